import POSIX

/// Holds a folder, flock(2), so that one process at a time does something there. Only processes of
/// Coffre heed it.
final class FolderLock: Sendable {
  private let folder: Descriptor

  /// Throws EAGAIN if another process holds it for `patience` milliseconds.
  init(_ path: String, patience: UInt64) throws(Errno) {
    folder = try System.open(path, [.directory, .nonBlocking])
    let end = Clock.monotonic + patience * 1_000_000
    while try !take() {
      guard Clock.monotonic < end else { throw .tryAgain }
      Clock.sleep(nanoseconds: 10_000_000)
    }
  }

  private func take() throws(Errno) -> Bool {
    do throws(Errno) {
      try System.lock(folder, exclusive: true)
      return true
    } catch {
      guard error == .tryAgain else { throw error }
      return false
    }
  }
}
