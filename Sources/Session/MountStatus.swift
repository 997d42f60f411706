import POSIX

/// What `coffre status` tells of one mount.
package struct MountStatus: Hashable, Sendable {
  package let vault: String
  /// Which folder that is, wherever it was moved to since: device and inode.
  package let folder: String
  package let mountPoint: String
  /// The vault's id.
  package let identifier: String
  /// When it was mounted, seconds since 1970.
  package let since: Int64
  /// Seconds since a program last asked for something.
  package let idle: UInt64
  /// Nil for never.
  package let lockAfter: UInt64?
  package var lockAtMost: UInt64?
  /// Seconds until it locks itself even while in use; nil for never.
  package var left: UInt64?
  package var protection = Protection.complete
  /// The number of the mount's filesystem, as the kernel tells it, `major:minor`.
  package var device = ""
  package let readOnly: Bool
  package let generation: UInt64
  package let healedCopies: Int
  /// Stored pieces that programs asked for and that could not be read.
  package let unreadablePieces: Int
  package let process: Int32
  /// What is wrong, as sentences.
  package let problems: [String]
  /// Why and when it was locked the time before, if that is known.
  package var lastLock: LastLock?
}

extension MountStatus {
  /// Seconds until it locks itself if nobody uses it any more; nil for never.
  package var idleLeft: UInt64? { lockAfter.map { $0 - min($0, idle) } }

  var message: Message {
    var message = Message(
      "mount",
      [
        "vault": vault, "mountpoint": mountPoint, "folder": folder, "id": identifier,
        "since": String(since),
        "idle": String(idle), "read-only": readOnly ? "yes" : "no",
        "generation": String(generation), "healed": String(healedCopies),
        "unreadable": String(unreadablePieces),
        "process": String(process), "problems": problems.joined(separator: "\n"),
      ])
    message["lock-after"] = lockAfter.map { String($0) }
    message["lock-at-most"] = lockAtMost.map { String($0) }
    message["left"] = left.map { String($0) }
    message["protection"] = protection.rawValue
    message["device"] = device
    message["last-cause"] = lastLock?.cause.rawValue
    message["last-time"] = lastLock.map { String($0.time) }
    message["last-problem"] = lastLock?.problem
    return message
  }

  init?(_ message: Message) {
    guard message.verb == "mount", let vault = message["vault"],
      let mountPoint = message["mountpoint"], let identifier = message["id"],
      let since = message["since"].flatMap({ UInt32($0) }).map({ Int64($0) }),
      let idle = message["idle"].flatMap({ UInt32($0) }).map({ UInt64($0) }),
      let generation = message["generation"].flatMap({ UInt64($0) }), generation < 1 << 62,
      let healed = message["healed"].flatMap({ Int($0) }),
      let unreadable = message["unreadable"].flatMap({ Int($0) }),
      let process = message["process"].flatMap({ Int32($0) })
    else { return nil }
    self.vault = vault
    folder = message["folder"] ?? ""
    self.mountPoint = mountPoint
    self.identifier = identifier
    self.since = since
    self.idle = idle
    lockAfter = message["lock-after"].flatMap { UInt32($0) }.map { UInt64($0) }
    lockAtMost = message["lock-at-most"].flatMap { UInt32($0) }.map { UInt64($0) }
    left = message["left"].flatMap { UInt32($0) }.map { UInt64($0) }
    protection = Protection(rawValue: message["protection"] ?? "") ?? .complete
    device = message["device"] ?? ""
    readOnly = message["read-only"] == "yes"
    self.generation = generation
    healedCopies = healed
    unreadablePieces = unreadable
    self.process = process
    problems = (message["problems"] ?? "").parts(between: "\n")
    if let cause = message["last-cause"].flatMap({ LockCause(rawValue: $0) }),
      let time = message["last-time"].flatMap({ UInt32($0) }).map({ Int64($0) })
    {
      lastLock = LastLock(
        vault: vault, mountPoint: mountPoint, identifier: identifier, time: time, cause: cause,
        problem: message["last-problem"])
    }
  }
}
