/// What a desktop may be told, as it goes to the keeper: no word of it is chosen by whoever sends
/// it.
package enum DesktopEvent: Hashable, Sendable {
  /// An idle lock is about to come.
  case locksSoon(seconds: UInt64)
  /// Somebody uses it again.
  case isUsed
  case locked(LockCause, isLost: Bool)

  var message: Message {
    switch self {
    case .locksSoon(let seconds): Message("locks-soon", ["seconds": String(seconds)])
    case .isUsed: Message("is-used")
    case .locked(let cause, let isLost):
      Message("locked", ["cause": cause.rawValue, "lost": isLost ? "yes" : "no"])
    }
  }

  init?(_ message: Message) {
    switch message.verb {
    case "locks-soon":
      guard let seconds = message["seconds"].flatMap({ UInt16($0) }) else { return nil }
      self = .locksSoon(seconds: UInt64(seconds))
    case "is-used": self = .isUsed
    case "locked":
      guard let cause = LockCause(rawValue: message["cause"] ?? "") else { return nil }
      self = .locked(cause, isLost: message["lost"] == "yes")
    default: return nil
    }
  }
}
