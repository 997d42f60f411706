import Disk
import POSIX

/// A file of preallocated space, given up so that contents can be overwritten while the lower
/// filesystem is full (I8).
///
/// Nothing is overwritten in place, so even that needs free slots, until a root is durable that
/// does not name the old ones. The reserve lends them: growing files are refused until it is whole
/// again.
package final class SpaceReserve: Sendable {
  static let name = "reserve"
  static let bytes: UInt64 = 4 << 20

  private struct State {
    var file: (any DiskFile)?
    var isWhole = false
    /// Why the space can't be taken, other than that there is none.
    var failure: DiskError?
  }

  private let disk: any Disk
  private let state = Lock(State())

  init(disk: any Disk) { self.disk = disk }

  package var isWhole: Bool { state.withLock { $0.isWhole } }

  /// Gives the space up. False if it was given up before.
  package func release() -> Bool {
    state.withLock { state in
      guard state.isWhole, let file = state.file else { return false }
      state.isWhole = false
      do {
        try file.resize(0)
        return true
      } catch { return false }
    }
  }

  /// Takes the space again. False while the disk has no room for it.
  @discardableResult
  package func restore() -> Bool {
    state.withLock { state in
      if state.isWhole { return true }
      do throws(DiskError) {
        let file: any DiskFile
        if let known = state.file { file = known } else { file = try open() }
        state.file = file
        try file.allocate(0..<Self.bytes)
        state.isWhole = true
        state.failure = nil
      } catch {
        state.failure = error
        // What was allocated before the disk was full would be missing elsewhere.
        try? state.file?.resize(0)
      }
      return state.isWhole
    }
  }

  /// Why files can't grow while the space is not there.
  package var failure: EngineError {
    if let failure = state.withLock({ $0.failure }), !failure.isFull { return .disk(failure) }
    return .noSpace("the reserve is in use")
  }

  /// Its content means nothing: what is in its place goes.
  private func open() throws(DiskError) -> any DiskFile {
    do { return try disk.open(Self.name, writable: true) } catch {
      guard error.errno == .noSuchFile || error.displaced != nil else { throw error }
      if error.displaced != nil { try disk.remove(Self.name) }
      return try disk.create(Self.name)
    }
  }
}
