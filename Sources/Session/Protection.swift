/// How long a vault stays open by itself. The names are those of the classes on phones.
///
/// What no time locks has no times: see `MountSettings`.
package enum Protection: String, CaseIterable, Hashable, Sendable {
  /// Locked by everything that means that its owner is away.
  case complete
  /// Once open, it stays so until its owner or the end of the session locks it.
  case untilFirstUnlock = "until-first-unlock"
}
