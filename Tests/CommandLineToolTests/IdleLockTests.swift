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

  private static let second: UInt64 = 1_000_000_000

  /// Whoever sits there is told half a minute before, once in each silence.
  @Test func aWarningComesBeforeTheLock() {
    let s = Self.second
    var idle = IdleLock(limit: 120 * s)
    idle.noteDrop(silence: 1000 * s, at: 1060 * s)
    #expect(idle.step(at: 1061 * s, last: 1000 * s) == .wait(until: 1090 * s))
    #expect(idle.step(at: 1090 * s, last: 1000 * s) == .warn(until: 1120 * s))
    let early = idle.takesWarningBack(last: 1000 * s)
    #expect(!early)
    idle.noteWarning(silence: 1000 * s)
    #expect(idle.step(at: 1091 * s, last: 1000 * s) == .wait(until: 1120 * s))
    let unused = idle.takesWarningBack(last: 1000 * s)
    #expect(!unused, "nobody has used it")
    #expect(idle.step(at: 1120 * s, last: 1000 * s) == .lock)
    let used = idle.takesWarningBack(last: 1095 * s)
    #expect(used)
    let again = idle.takesWarningBack(last: 1095 * s)
    #expect(!again, "once")
    idle.noteDrop(silence: 1095 * s, at: 1155 * s)
    #expect(idle.step(at: 1190 * s, last: 1095 * s) == .warn(until: 1215 * s))
  }

  @Test func shortLimitsAndLongSleepsAreNotWarnedOf() {
    let s = Self.second
    var short = IdleLock(limit: 119 * s)
    short.noteDrop(silence: 1000 * s, at: 1060 * s)
    #expect(short.step(at: 1100 * s, last: 1000 * s) == .wait(until: 1119 * s + s / 2))
    var long = IdleLock(limit: 900 * s)
    long.noteDrop(silence: 1000 * s, at: 1450 * s)
    #expect(long.step(at: 5000 * s, last: 1000 * s) == .lock)
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
