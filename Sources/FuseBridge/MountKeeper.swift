internal import CFuse3
internal import Glibc
internal import POSIX

/// Whoever takes a mount away for the session that serves it: this process, or another one where
/// this one has given that up.
package protocol MountKeeper: Sendable {
  /// Takes every mount of a filesystem away, see `Unmount.run`.
  func unmount(_ device: String, lazily: Bool)
  /// Cuts the connection, see `Unmount.abort`.
  func abort(_ device: String)
  /// Writes back pages and times, syncfs(2).
  func synchronize(_ device: String)
}

/// This process, as long as it may.
package struct OwnKeeper: MountKeeper {
  package init() {}

  package func unmount(_ device: String, lazily: Bool) { Unmount.run(device, lazily: lazily) }
  package func abort(_ device: String) { Unmount.abort(device) }

  /// The root is opened for that moment only: a descriptor kept would make the mount busy.
  package func synchronize(_ device: String) {
    for mount in MountTable.visibleMounts(of: device) {
      let flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK
      let root = unsafe Glibc.open(mount.mountPoint, flags)
      guard root >= 0 else { continue }
      // Its answer may tell of a failure before, which a program has heard of (errseq_sample in
      // lib/errseq.c); the failures since are counted where they happen.
      _ = syncfs(root)
      close(root)
      break
    }
  }
}
