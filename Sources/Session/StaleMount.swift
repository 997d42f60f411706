import FuseBridge
import POSIX

/// Mounts of ours that are seen at a path.
extension MountTable {
  /// Whether Coffre has a mount right there.
  static func hasOurs(at path: String) -> Bool { uppermost(at: path)?.type == "fuse.coffre" }

  static func isMountPoint(_ path: String) -> Bool {
    entries().contains { $0.mountPoint.hasSameBytes(as: path) }
  }

  /// Whether a mount of ours is there whose process is gone: nothing can be asked of it any more.
  static func isStale(at path: String) -> Bool {
    guard hasOurs(at: path) else { return false }
    let isDead = Lock(false)
    let look = Step("coffre-look") {
      do throws(Errno) {
        // The kernel may answer for attributes, an open and a listing by itself; never for space.
        let root = try System.open(path, [.directory, .nonBlocking])
        _ = try System.space(of: root)
      } catch {
        let isGone = error == .notConnected || error == .aborted
        isDead.withLock { $0 = isGone }
      }
    }
    // Whoever is asked may be stopped. The dead answer at once.
    return look.wait(nanoseconds: 2_000_000_000) && isDead.withLock { $0 }
  }

  /// Takes a stale mount away; false if there is none or it can't be.
  @discardableResult
  static func detachStale(at path: String) -> Bool {
    guard isStale(at: path) else { return false }
    do throws(Errno) {
      try System.detachMount(path)
      return true
    } catch {
      // Unmounting is for root; fusermount3 does it for the one who mounted.
      return Unmount.byHelper(path, lazily: true)
    }
  }
}
