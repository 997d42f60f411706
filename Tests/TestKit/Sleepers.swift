import Bytes
package import Crypto
package import POSIX

/// Threads that seal and open when they are asked to, and sleep in between, as those that serve a
/// mount do.
package final class Sleepers: Sendable {
  private struct State {
    var key: SealingKey?
    var round = 0
    var finished = 0
    var failures = 0
    var isOver = false
  }

  private let state = Monitor(State())
  private let threads: [Thread]

  package init(count: Int) throws(Errno) {
    let state = state
    threads = try (0..<count).map { (_: Int) throws(Errno) in
      try Thread.start("sleeper") {
        var round = 0
        while Self.serve(after: round, state) { round += 1 }
      }
    }
  }

  /// Has every thread seal and open with a key; true if all did it well. They have let the key go
  /// then.
  package func use(_ key: SealingKey) -> Bool {
    state.withLock { state in
      state.key = key
      state.round += 1
      state.finished = 0
    }
    let count = threads.count
    return state.withLock(when: { $0.finished == count }, timeout: nil) { state in
      state.key = nil
      return state.failures == 0
    }
  }

  package func end() {
    state.withLock { $0.isOver = true }
    for thread in threads { thread.join() }
  }

  private static func serve(after round: Int, _ state: Monitor<State>) -> Bool {
    let good = state.withLock(when: { $0.round > round || $0.isOver }, timeout: nil) { $0.key }
      .map(roundTrip)
    guard let good else { return false }
    state.withLock { state in
      state.finished += 1
      if !good { state.failures += 1 }
    }
    return true
  }

  /// Seals and opens in the calling thread.
  package static func roundTrip(_ key: SealingKey) -> Bool {
    let iv = Random.iv()
    let context = AdditionalData(kind: 1, 2, 3)
    let buffer = Buffer([UInt8](repeating: 7, count: 512))
    let tag = key.seal(buffer, 0..<512, into: buffer, at: 0, iv: iv, additional: context)
    let good = key.open(buffer, 0..<512, into: buffer, at: 0, iv: iv, tag: tag, additional: context)
    return good && buffer.load(0..<512) == [UInt8](repeating: 7, count: 512)
  }
}
