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
  /// Whether backup programs are told to pass the mount by.
  package var isMarked = true
  /// Seconds without use after which the vault locks itself; nil for never.
  package var lockAfter: UInt64? = 900
  /// Before sleep, too, where that does not lock it anyway.
  package var lockOnSuspend = false
  /// Seconds after the unlock at which it locks itself even while in use; nil for never.
  package var lockAtMost: UInt64?
  /// With `untilFirstUnlock` neither of the two is set.
  package var protection = Protection.complete
  /// Options given by -o, one each.
  package var extra: [String] = []

  /// At what happens to the session or the machine it is locked.
  var eventPolicy: EventPolicy {
    protection == .complete ? .complete : .untilFirstUnlock(onSuspend: lockOnSuspend)
  }

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
        "lock-on-suspend": lockOnSuspend ? "yes" : "no", "guard": isGuarded ? "yes" : "no",
        "backup-marker": isMarked ? "yes" : "no",
        "options": extra.joined(separator: "\n"), "password": String(passwordCount),
      ])
    message["lock-after"] = lockAfter.map { String($0) }
    message["lock-at-most"] = lockAtMost.map { String($0) }
    message["protection"] = protection.rawValue
    return message
  }

  init?(_ message: Message) {
    guard message.verb == "mount", let vault = message["vault"],
      let mountPoint = message["mountpoint"]
    else { return nil }
    guard let protection = Protection(rawValue: message["protection"] ?? "") else { return nil }
    self.init(vault: vault, mountPoint: mountPoint)
    readOnly = message["read-only"] == "yes"
    allowOther = message["allow-other"] == "yes"
    acceptOlder = message["accept-older"] == "yes"
    acceptJournalLoss = message["accept-journal-loss"] == "yes"
    lockOnSuspend = message["lock-on-suspend"] == "yes"
    isGuarded = message["guard"] != "no"
    isMarked = message["backup-marker"] != "no"
    lockAfter = message["lock-after"].flatMap { UInt32($0) }.map { UInt64($0) }
    lockAtMost = message["lock-at-most"].flatMap { UInt32($0) }.map { UInt64($0) }
    self.protection = protection
    extra = (message["options"] ?? "").parts(between: "\n")
  }
}
