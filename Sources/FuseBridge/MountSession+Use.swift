/// Whether anybody uses the mount.
extension MountSession {
  /// When a person's program last made a request: nanoseconds of CLOCK_BOOTTIME.
  ///
  /// Not counted: statfs, attributes of the root, forgetting, closing, and what the kernel does by
  /// itself (write-backs and their times). A reader that is served from the page cache is not seen
  /// here, until `dropCaches`.
  package var lastActivity: UInt64 { bridge.activity.lastRequest }

  /// Somebody works with the vault in another way than through the mount.
  package func noteUse() {
    if bridge.activity.begin() { bridge.activity.finish() }
  }

  /// The silence that began at a time is too long at another one only, see `Activity`.
  package func extend(silence: UInt64, until deadline: UInt64?) {
    bridge.activity.extend(silence: silence, until: deadline)
  }

  /// Waits for at most a time, less if somebody came after too long a silence.
  package func waitForEndOfSilence(nanoseconds: UInt64) {
    bridge.activity.waitForEnd(nanoseconds: nanoseconds)
  }
}
