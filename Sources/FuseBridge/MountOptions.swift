/// How a volume is mounted. The defaults are those for a person's own vault.
package struct MountOptions: Sendable {
  /// Mounted `ro`. The volume decides by itself whether it takes changes.
  package var readOnly = false
  /// Other users may look in as well, as far as modes let them; for a user who is not root it needs
  /// `user_allow_other` in /etc/fuse.conf.
  package var allowOther = false
  /// Device files work (`dev`); for root only.
  package var deviceFiles = false
  /// Set-uid bits work (`suid`); for root only.
  package var setUserID = false
  /// What /proc/mounts shows as source. Never the vault's path: everybody can read it there.
  package var fsName = "coffre"
  package var subtype = "coffre"
  /// More options for `-o`, as a person gave them; libfuse refuses what it does not know.
  package var extra: [String] = []
  /// Requests of read-ahead and asynchronous I/O in flight.
  package var maxBackground: UInt32 = 64
  /// Threads that serve; 0 means twice the processors, at least 4. Never below 2: write-backs
  /// caused by an invalidation need a thread while another one is busy.
  package var threads = 0
  /// For how long a step of a forced stop may go without any request being served, in seconds.
  package var patience = 10.0
  /// Does the unmounting instead of this process, which may be confined and unable to; called with
  /// whether to detach a busy mount.
  package var unmounter: (@Sendable (_ lazily: Bool) -> Void)?

  package init() {}

  /// The text after `-o`, fuse(8).
  var text: String {
    var parts = [
      "fsname=" + Self.escaped(fsName), "subtype=" + Self.escaped(subtype),
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

  /// A comma ends an option, a backslash takes the next character as it is.
  private static func escaped(_ value: String) -> String {
    var result = ""
    for character in value {
      if character == "," || character == "\\" { result.append("\\") }
      result.append(character)
    }
    return result
  }
}
