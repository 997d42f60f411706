internal import CFuse3
internal import Glibc

/// Taking a mount away, umount2(2), or fusermount3(1) where that is for root only.
enum Unmount {
  /// Whether the mount is gone. Lazily: out of the tree even while in use.
  static func run(_ mountPoint: String, _ options: MountOptions, lazily: Bool) -> Bool {
    if let unmounter = options.unmounter { return unmounter(lazily) }
    // UMOUNT_NOFOLLOW: a link put in place of the mount point is not followed.
    let flags: Int32 = 8 | (lazily ? 2 : 0)
    if unsafe umount2(mountPoint, flags) == 0 { return true }
    // EINVAL: no mount there any more, so somebody else was quicker.
    if errno == EINVAL { return true }
    guard errno == EPERM else { return false }
    return unsafe coffre_fuse_run_fusermount(mountPoint, lazily ? 1 : 0) == 0
  }

  /// Cuts the connection, so that every request fails and every wait in the kernel ends.
  ///
  /// The last resort, where even a stuck write-back must not keep the process from ending. Root
  /// has MNT_FORCE; a user has the `abort` file of his own connection.
  static func abort(_ mountPoint: String, connection: UInt32) {
    _ = unsafe umount2(mountPoint, 8 | 1)
    let file = unsafe open("/sys/fs/fuse/connections/\(connection)/abort", O_WRONLY | O_CLOEXEC)
    guard file >= 0 else { return }
    _ = unsafe write(file, "1", 1)
    close(file)
  }
}
