internal import POSIX
internal import Synchronization

/// When a person's program last asked for something, and whether that was too long ago.
///
/// The clock goes on while the machine sleeps: a laptop that was shut for an hour has been idle for
/// an hour. Whoever asks first after that must not pass for somebody who was at work all the time,
/// so the end of a silence is seen here, by the request itself.
final class Activity: Sendable {
  private struct State {
    /// When the last request came, or the last of those that take long ended.
    var last: UInt64
    /// When the silence since then is too long; nil while none is.
    var deadline: UInt64?
    /// Requests under way.
    var underWay = 0
    var isOver = false
  }

  private let limit: UInt64?
  private let end: UInt64?
  private let now: @Sendable () -> UInt64
  private let state: Lock<State>
  /// Apart from the state, so that requests wake nobody.
  private let silenceEnd = Monitor(false)
  private let served = Atomic<Int>(0)

  /// `limit` in nanoseconds, and `end` by the clock; nil for a mount that does not lock itself.
  init(
    limit: UInt64?, end: UInt64? = nil, now: @escaping @Sendable () -> UInt64 = { Clock.boottime }
  ) {
    self.limit = limit
    self.end = end
    self.now = now
    let start = now()
    state = Lock(State(last: start, deadline: limit.map { start + $0 }))
  }

  /// A request that takes long counts to its end, unless its disk seems to hang.
  var lastRequest: UInt64 {
    let now = now()
    return state.withLock { state in
      state.underWay > 0 && now < state.last + Self.longestRequest ? now : state.last
    }
  }
  private static let longestRequest: UInt64 = 600_000_000_000

  /// How many requests were served, of any kind: a sign that things move.
  var servedRequests: Int { served.load(ordering: .relaxed) }

  func answered() { served.wrappingAdd(1, ordering: .relaxed) }

  /// False once the mount was unused for longer than the limit, or its end has come: it is to be
  /// locked, and nothing is to be begun any more.
  func begin() -> Bool {
    let now = now()
    if let end, now >= end { return false }
    let isTaken = state.withLock { state in
      if let deadline = state.deadline, now >= deadline, state.underWay == 0 { state.isOver = true }
      guard !state.isOver else { return false }
      state.underWay += 1
      note(now, &state)
      return true
    }
    if !isTaken { silenceEnd.withLock { $0 = true } }
    return isTaken
  }

  func finish() {
    let now = now()
    state.withLock { state in
      state.underWay -= 1
      note(now, &state)
    }
  }

  private func note(_ now: UInt64, _ state: inout State) {
    state.last = now
    state.deadline = limit.map { now + $0 }
  }

  /// Until then no silence is too long: the caches are dropped late, and whoever reads from them
  /// is seen only after. Nil while that goes on. A request since has set another deadline.
  func extend(silence: UInt64, until deadline: UInt64?) {
    state.withLock { state in
      if state.last == silence, !state.isOver { state.deadline = deadline }
    }
  }

  /// Waits for at most a time, less if a silence turns out to have been too long. The time stands
  /// still while the machine sleeps.
  func waitForEnd(nanoseconds: UInt64) {
    silenceEnd.withLock(when: { $0 }, timeout: nanoseconds) { _ in }
  }
}
