package import POSIX

/// Something done by another thread, to be waited for.
package final class Aside: Sendable {
  private struct State {
    var isDone = false
    var failure: (any Error)?
  }

  private let state = Monitor(State())

  package init(_ body: @escaping @Sendable () throws -> Void) throws(Errno) {
    try Thread.start("aside") { [state] in
      var failure: (any Error)?
      do { try body() } catch { failure = error }
      state.withLock {
        $0.failure = failure
        $0.isDone = true
      }
    }
  }

  /// Whether it ends within so many nanoseconds.
  package func ends(within time: UInt64) -> Bool {
    state.withLock(when: { $0.isDone }, timeout: time) { $0.isDone }
  }

  /// Waits for the end; throws what it threw.
  package func finish() throws {
    if let failure = state.withLock(when: { $0.isDone }, timeout: nil, { $0.failure }) {
      throw failure
    }
  }
}
