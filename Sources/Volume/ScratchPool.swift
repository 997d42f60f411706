import Bytes
import POSIX

/// Reusable buffers for sealed chunks, so that a request allocates nothing large.
final class ScratchPool: Sendable {
  /// Ciphertext of up to 32 chunks, which stays in a core's cache while it is worked on.
  static let size = 128 << 10
  private static let kept = 8
  private let buffers = Lock<[Buffer]>([])

  func take() -> Buffer { buffers.withLock { $0.popLast() } ?? Buffer(count: Self.size) }

  func giveBack(_ buffer: Buffer) {
    buffers.withLock { if $0.count < Self.kept { $0.append(buffer) } }
  }

  /// Releases, and so wipes, all of them.
  func drop() { buffers.withLock { $0.removeAll() } }
}
