import Testing

@testable import Session

/// When an idle lock drops the caches, and when it locks. The limit is 100, the last use at 1000.
@Suite struct IdleLockTests {
  private func step(
    at now: UInt64, last: UInt64 = 1000, dropped: (silence: UInt64, at: UInt64)? = nil
  ) -> IdleLock.Step {
    var idle = IdleLock(limit: 100)
    if let dropped { idle.noteDrop(silence: dropped.silence, at: dropped.at) }
    return idle.step(at: now, last: last)
  }

  @Test func cachesAreDroppedOnceAtHalfTheLimit() {
    #expect(step(at: 1000) == .wait(until: 1050))
    #expect(step(at: 1049) == .wait(until: 1050))
    #expect(step(at: 1050) == .dropCaches)
    #expect(step(at: 1051, dropped: (1000, 1050)) == .wait(until: 1100))
    #expect(step(at: 1099, dropped: (1000, 1050)) == .wait(until: 1100))
    #expect(step(at: 1100, dropped: (1000, 1050)) == .lock)
  }

  @Test func useStartsAnew() {
    #expect(step(at: 1099, last: 1098, dropped: (1000, 1050)) == .wait(until: 1148))
    #expect(step(at: 1148, last: 1098, dropped: (1000, 1050)) == .dropCaches)
  }

  @Test func halfTheLimitIsLeftAfterASlowDrop() {
    #expect(step(at: 1150, dropped: (1000, 1140)) == .wait(until: 1190))
    #expect(step(at: 1190, dropped: (1000, 1140)) == .lock)
  }

  @Test func aMachineThatSleptTooLongLocksAtOnce() {
    #expect(step(at: 5000) == .lock)
    #expect(step(at: 5000, dropped: (1000, 1050)) == .lock)
  }
}
