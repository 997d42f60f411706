import POSIX

/// Tells people something on a thread of its own, one thing after the other: a terminal that is
/// held, or a log that takes nothing, may keep whoever writes to it for ever.
final class Teller: Sendable {
  private struct State {
    var waiting: [@Sendable () -> Void] = []
    var isAtWork = false
  }

  private let state = Monitor(State())
  /// What is more is dropped.
  private static let most = 1000

  func tell(_ words: @escaping @Sendable () -> Void) {
    let isFirst = state.withLock { state in
      if state.waiting.count < Self.most { state.waiting.append(words) }
      defer { state.isAtWork = true }
      return !state.isAtWork
    }
    guard isFirst, (try? Thread.start("coffre-tell") { [self] in work() }) == nil else { return }
    state.withLock { $0 = State() }
  }

  private func work() {
    while true {
      let next = state.withLock { state in
        let next = state.waiting.isEmpty ? nil : state.waiting.removeFirst()
        state.isAtWork = next != nil
        return next
      }
      guard let next else { return }
      next()
    }
  }

  /// Lets what was told get out, for so long at most.
  func finish(nanoseconds: UInt64) {
    state.withLock(when: { !$0.isAtWork }, timeout: nanoseconds) { _ in }
  }
}
