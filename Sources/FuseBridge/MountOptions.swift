/// How a volume is mounted. The defaults are those for a person's own vault.
package struct MountOptions: Sendable {
  /// Mounted `ro`. The volume decides by itself whether it takes changes.
  package var readOnly = false
  /// Other users may look in as well, as far as modes let them; for a user who is not root it needs
  /// `user_allow_other` in /etc/fuse.conf.
  package var allowOther = false
  /// Backup programs are told to pass the mount by, see `ViewMarker`.
  package var isMarked = true
  /// Device files work (`dev`); for root only.
  package var deviceFiles = false
  /// Set-uid bits work (`suid`); for root only.
  package var setUserID = false
  /// More options for `-o`, as a person gave them; libfuse refuses what it does not know.
  package var extra: [String] = []
  /// For how long nothing may move while the mount is locked before it counts as hanging, in
  /// seconds: longer than a slow disk takes for one sync. A lock on one that hangs ends in twice
  /// that time at about; what the background threads still got done counts as movement.
  package var patience = 45.0
  /// Without use for so many nanoseconds, the mount takes no request any more; nil for never.
  package var idleLimit: UInt64?
  /// From that time on, nanoseconds of CLOCK_BOOTTIME, the mount takes no request any more, however
  /// busy it is; nil for never.
  package var end: UInt64?
  /// How many calls of the lower filesystem have come to their end.
  package var lowerCalls: @Sendable () -> Int = { 0 }

  package init() {}

  /// The text after `-o`, fuse(8).
  package var text: String {
    var parts = [
      // Never the vault's path as source: everybody can read it in /proc/mounts.
      "fsname=coffre", "subtype=coffre",
      // The kernel checks modes and access lists before it asks us.
      "default_permissions",
      deviceFiles ? "dev" : "nodev", setUserID ? "suid" : "nosuid", readOnly ? "ro" : "rw",
    ]
    if allowOther { parts.append("allow_other") }
    return (parts + extra).joined(separator: ",")
  }

  /// The last `max_read=` among the options of a person, fuse(8).
  var largestRead: UInt32? {
    extra.last { $0.hasPrefix("max_read=") }.flatMap { UInt32($0.dropFirst(9)) }
  }
}
