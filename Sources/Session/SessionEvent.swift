/// What happens to a login session or to the machine, as logind tells it.
enum SessionEvent: Hashable, Sendable, CaseIterable {
  /// A lock of the screen was asked for, or a screen locker has said that it is locked.
  case screenLock
  /// Sleep of any kind; a closed lid, too, where that leads to it.
  case suspend
  /// Power off, halt, reboot.
  case shutdown
  /// The session that the mount was made in has ended, or the user's last one.
  case logout

  var cause: LockCause {
    switch self {
    case .screenLock: .screen
    case .suspend: .suspend
    case .shutdown: .shutdown
    case .logout: .sessionEnd
    }
  }

  /// The event of a cause, of which those that are none of the session have none.
  init?(_ cause: LockCause) {
    guard let event = Self.allCases.first(where: { $0.cause == cause }) else { return nil }
    self = event
  }
}

/// At which of these a mount is locked.
enum EventPolicy: Hashable, Sendable {
  /// `--protection complete`: nobody sits there any more, so nothing stays readable.
  case complete
  /// `--protection until-first-unlock`, with or without `--lock-on-suspend`.
  case untilFirstUnlock(onSuspend: Bool)

  func locks(_ event: SessionEvent) -> Bool {
    switch (self, event) {
    case (.complete, _): true
    case (.untilFirstUnlock, .screenLock): false
    case (.untilFirstUnlock(let onSuspend), .suspend): onSuspend
    case (.untilFirstUnlock, .shutdown), (.untilFirstUnlock, .logout): true
    }
  }

  /// As the keeper is told of it.
  var message: Message {
    switch self {
    case .complete: Message("watch", ["protection": Protection.complete.rawValue])
    case .untilFirstUnlock(let onSuspend):
      Message(
        "watch",
        [
          "protection": Protection.untilFirstUnlock.rawValue,
          "lock-on-suspend": onSuspend ? "yes" : "no",
        ])
    }
  }

  init?(_ message: Message) {
    guard message.verb == "watch" else { return nil }
    switch Protection(rawValue: message["protection"] ?? "") {
    case .complete: self = .complete
    case .untilFirstUnlock:
      self = .untilFirstUnlock(onSuspend: message["lock-on-suspend"] == "yes")
    case nil: return nil
    }
  }

  /// What logind is asked to delay, as it names it; nil if nothing.
  var delayed: String? {
    let names = [locks(.suspend) ? "sleep" : nil, locks(.shutdown) ? "shutdown" : nil]
    let wanted = names.compactMap { $0 }
    return wanted.isEmpty ? nil : wanted.joined(separator: ":")
  }
}

extension LockCause {
  /// Whether the machine waits for the lock, and not for long: logind does for 5 seconds as it
  /// comes.
  var isHurried: Bool { self == .suspend || self == .shutdown }
}
