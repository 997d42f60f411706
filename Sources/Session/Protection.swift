/// How long a vault stays open by itself. The names are those of the classes on phones.
package enum Protection: String, CaseIterable, Hashable, Sendable {
  /// Locked by everything that means that its owner is away.
  case complete
  /// Once open, it stays so until its owner or the end of the session locks it.
  case untilFirstUnlock = "until-first-unlock"

  /// Whether such an event locks a mount of this class.
  package func locks(at cause: LockCause) -> Bool {
    switch (self, cause) {
    case (.complete, _): true
    case (.untilFirstUnlock, .idle), (.untilFirstUnlock, .atMost), (.untilFirstUnlock, .screen),
      (.untilFirstUnlock, .suspend):
      false
    case (.untilFirstUnlock, _): true
    }
  }
}
