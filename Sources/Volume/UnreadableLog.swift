import POSIX

/// Damage that readers met since the mount: each piece is counted once, and told to whoever keeps
/// the log. A piece is named by its stored object and place, never by a name of the user's.
package final class UnreadableLog: Sendable {
  private struct State {
    var seen: Set<String> = []
    var count = 0
    var tell: (@Sendable (String) -> Void)?
  }

  private let state = Lock(State())
  /// Pieces kept in mind; beyond that one may be counted again.
  private static let remembered = 4096

  package init() {}

  package var count: Int { state.withLock { $0.count } }

  /// Says who is to hear of each piece.
  package func onDamage(_ tell: @escaping @Sendable (String) -> Void) {
    state.withLock { $0.tell = tell }
  }

  func note(_ what: String) {
    let tell: (@Sendable (String) -> Void)? = state.withLock { state in
      guard !state.seen.contains(what) else { return nil }
      if state.seen.count >= Self.remembered { state.seen = [] }
      state.seen.insert(what)
      state.count += 1
      return state.tell
    }
    tell?(what)
  }
}
