import FuseBridge
import POSIX

/// What `coffre mount` was asked for, with absolute paths.
package struct MountSettings: Hashable, Sendable {
  package var vault: String
  package var mountPoint: String
  package var readOnly = false
  package var allowOther = false
  package var acceptOlder = false
  package var acceptJournalLoss = false
  /// Whether the mount point is write-protected below the mount, see `MountPointGuard`.
  package var isGuarded = true
  /// Seconds without use after which the vault locks itself; nil for never.
  package var lockAfter: UInt64? = 900
  /// Options given by -o, one each.
  package var extra: [String] = []

  /// See `MountOptions`; not for a person to set.
  var patience = MountOptions().patience

  package init(vault: String, mountPoint: String) {
    self.vault = vault
    self.mountPoint = mountPoint
  }
}

extension MountSettings {
  /// As it goes to the daemon; the password's length goes along.
  func message(passwordCount: Int) -> Message {
    var message = Message(
      "mount",
      [
        "vault": vault, "mountpoint": mountPoint, "read-only": readOnly ? "yes" : "no",
        "allow-other": allowOther ? "yes" : "no", "accept-older": acceptOlder ? "yes" : "no",
        "accept-journal-loss": acceptJournalLoss ? "yes" : "no",
        "guard": isGuarded ? "yes" : "no", "options": extra.joined(separator: "\n"),
        "password": String(passwordCount),
      ])
    message["lock-after"] = lockAfter.map { String($0) }
    return message
  }

  init?(_ message: Message) {
    guard message.verb == "mount", let vault = message["vault"],
      let mountPoint = message["mountpoint"]
    else { return nil }
    self.init(vault: vault, mountPoint: mountPoint)
    readOnly = message["read-only"] == "yes"
    allowOther = message["allow-other"] == "yes"
    acceptOlder = message["accept-older"] == "yes"
    acceptJournalLoss = message["accept-journal-loss"] == "yes"
    isGuarded = message["guard"] != "no"
    lockAfter = message["lock-after"].flatMap { UInt32($0) }.map { UInt64($0) }
    extra = (message["options"] ?? "").parts(between: "\n")
  }
}
