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

  private static let pool = Lock(IVPool())

  /// A fresh IV from a pool of 12 KiB: one call of the generator for a thousand.
  ///
  /// What is older than a second is dropped.
  package static func iv() -> IV { pool.withLock { $0.next() } }

  /// Forgets the IVs not yet given out.
  package static func wipePool() { pool.withLock { $0.wipe() } }
}
