internal import Glibc

/// Whether anybody uses the mount.
extension MountSession {
  /// When a person's program last made a request: nanoseconds of CLOCK_BOOTTIME.
  ///
  /// Not counted: statfs, attributes of the root, forgetting, closing, and what the kernel does by
  /// itself (write-backs and their times). A reader that is served from the page cache is not seen
  /// here.
  package var lastActivity: UInt64 { bridge.activity.lastRequest }

  /// Open files and directories; a mapping counts as its file.
  package var openHandles: Int { bridge.activity.openHandles }

  /// Whether a program is at work in the mount, also one that reads from the page cache and so
  /// sends no requests: pages and attributes are taken from the kernel, and a program at work has
  /// to ask again within the grace period. Blocks for that long, and costs everybody his cache: to
  /// be asked when an idle lock is due, not before. Not for workers.
  package func isInUse(grace seconds: Double = 2) -> Bool {
    let start = Activity.now
    dropCaches()
    let end = Activity.now + UInt64(seconds * 1e9)
    while Activity.now < end {
      if lastActivity > start { return true }
      usleep(10_000)
    }
    return lastActivity > start
  }
}
