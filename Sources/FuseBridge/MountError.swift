package import POSIX

/// Why a mount did not come about.
package enum MountError: Error, Hashable, Sendable {
  /// The mount point is missing, is no directory, or may not be entered.
  case badMountPoint(Errno)
  /// /dev/fuse cannot be opened: no FUSE in the kernel or in this container.
  case noDevice(Errno)
  /// libfuse does not know an option.
  case badOptions
  /// The kernel or fusermount3 refused.
  case refused(Errno)
  /// The kernel and libfuse did not come to terms, or the mount went before it could be used.
  case notStarted
}
