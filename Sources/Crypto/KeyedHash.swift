import Bytes
import Glibc
import POSIX
import Synchronization

/// HMAC-SHA256 under one key, FIPS 198-1.
///
/// When the last reference goes, the key is wiped and with it what every thread made of it.
@safe
package final class KeyedHash: Sendable {
  private let secret: SecretBytes
  private let identity = KeyIdentity.next()

  package init(key: consuming SecretBytes) { secret = key }

  deinit { ThreadContexts.wipe(identity) }

  /// The first 64 bits: where a name or a frame is to be found.
  package func hash(_ message: [UInt8]) -> UInt64 {
    var digest: UInt64 = 0
    unsafe message.withUnsafeBytes { message in
      unsafe withUnsafeTemporaryAllocation(byteCount: 32, alignment: 8) { output in
        unsafe hash(message, output)
        digest = unsafe UInt64(littleEndian: output.load(as: UInt64.self))
      }
    }
    return digest
  }

  /// All 32 bytes.
  package func digest(_ message: RawSpan, into output: inout MutableRawSpan) {
    precondition(output.byteCount == 32)
    unsafe message.withUnsafeBytes { message in
      unsafe output.withUnsafeMutableBytes { unsafe hash(message, $0) }
    }
  }

  @unsafe
  private func hash(_ message: UnsafeRawBufferPointer, _ output: UnsafeMutableRawBufferPointer) {
    ThreadContexts.withCurrent { contexts in
      unsafe contexts.hash(for: identity).digest(identity, secret, message, output)
    }
  }
}

/// Tells the keys of this process apart, in what threads keep of them. Never 0.
enum KeyIdentity {
  private static let last = Atomic<UInt64>(0)
  static func next() -> UInt64 { last.add(1, ordering: .relaxed).newValue }
}
