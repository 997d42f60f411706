internal import CFuse3
internal import Glibc
internal import POSIX

/// Taking a filesystem out of the tree, umount2(2), or fusermount3(1) where that is for root only.
///
/// It goes by device and not by path: what was mounted over the mount point is somebody else's, and
/// our own mount may have been moved, or bound to other places.
package enum Unmount {
  /// Takes away every mount of a filesystem that this process sees, but for those that another
  /// mount lies on. Lazily: even while in use.
  static func run(_ device: String, lazily: Bool) {
    for mount in MountTable.mounts(of: device) {
      // Looked at one by one: the one above may have been ours, and is gone now.
      guard MountTable.uppermost(at: mount.mountPoint)?.mount == mount.mount else { continue }
      take(mount.mountPoint, lazily: lazily)
    }
  }

  private static func take(_ mountPoint: String, lazily: Bool) {
    // UMOUNT_NOFOLLOW: a link put in place of the mount point is not followed.
    let flags: Int32 = 8 | (lazily ? 2 : 0)
    guard unsafe umount2(mountPoint, flags) != 0, errno == EPERM else { return }
    byHelper(mountPoint, lazily: lazily)
  }

  /// fusermount3(1), which does it for the one who mounted. False if it did not.
  ///
  /// From fixed places only: a program that becomes root is not looked up in PATH.
  @discardableResult
  package static func byHelper(_ mountPoint: String, lazily: Bool) -> Bool {
    let words = ["fusermount3", "-u", "-q"] + (lazily ? ["-z"] : []) + ["--", mountPoint]
    for tool in ["/usr/bin/fusermount3", "/bin/fusermount3", "/usr/local/bin/fusermount3"] {
      guard
        let process = try? System.spawn(
          tool, words, descriptors: [.null, .null, .null], detached: false)
      else { continue }
      return (try? System.wait(for: process)) == .exited(0)
    }
    return false
  }

  /// Cuts the connection, so that every request fails and every wait in the kernel ends.
  ///
  /// The last resort, where even a stuck write-back must not keep the process from ending. Root
  /// has MNT_FORCE; a user has the `abort` file of his own connection, which has the minor number
  /// of the device for a name.
  static func abort(_ device: String) {
    for mount in MountTable.visibleMounts(of: device) {
      _ = unsafe umount2(mount.mountPoint, 8 | 1)
    }
    guard let minor = device.split(separator: ":").last else { return }
    let file = unsafe open("/sys/fs/fuse/connections/\(minor)/abort", O_WRONLY | O_CLOEXEC)
    guard file >= 0 else { return }
    _ = unsafe write(file, "1", 1)
    close(file)
  }
}
