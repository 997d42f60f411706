import Bytes
import CCrypto
import CSystem
import Glibc
import POSIX

/// The only source of randomness: the system's generator, getrandom(2).
package enum Random {
  package static func fill(_ span: inout MutableRawSpan) {
    unsafe span.withUnsafeMutableBytes { bytes in
      var done = 0
      while done < bytes.count {
        guard let base = bytes.baseAddress else { return }
        let count = unsafe coffre_getrandom(base + done, bytes.count - done)
        if count < 0 {
          precondition(errno == EINTR, "the system's generator works")
          continue
        }
        done += count
      }
    }
  }

  /// Bytes that are not secret, or that become part of something sealed: ids, salts, seeds.
  package static func bytes(_ count: Int) -> [UInt8] {
    let buffer = Buffer(count: count)
    var span = buffer.mutableBytes(in: 0..<count)
    fill(&span)
    return buffer.load(0..<count)
  }

  package static func uint64() -> UInt64 {
    let buffer = Buffer(bytes(8))
    return buffer.load(UInt64.self, at: 0)
  }

  private struct Pool {
    let buffer = Buffer(count: 1024 * IV.byteCount)
    var next = 1024 * IV.byteCount
    var filled: UInt64 = 0
    var process: pid_t = 0
  }

  private static let pool = Lock(Pool())
  private static let maximumAge: UInt64 = 1_000_000_000

  /// A fresh IV from a pool of 12 KiB: one call of the generator for a thousand.
  ///
  /// What is older than a second is dropped, and so is what another process filled: a fork must not
  /// repeat.
  package static func iv() -> IV {
    pool.withLock { pool in
      let now = Clock.monotonic
      if pool.next >= pool.buffer.count || now &- pool.filled > maximumAge
        || pool.process != getpid()
      {
        var span = pool.buffer.mutableBytes(in: 0..<pool.buffer.count)
        fill(&span)
        pool.next = 0
        pool.filled = now
        pool.process = getpid()
      }
      let iv = IV(from: pool.buffer, at: pool.next)
      pool.buffer.zero(pool.next..<(pool.next + IV.byteCount))
      pool.next += IV.byteCount
      return iv
    }
  }

  /// Forgets the IVs not yet given out.
  package static func wipePool() {
    pool.withLock { pool in
      pool.buffer.zero(0..<pool.buffer.count)
      pool.next = pool.buffer.count
    }
  }
}
