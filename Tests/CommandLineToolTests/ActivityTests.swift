import POSIX
import Testing

@testable import FuseBridge

/// When a silence is over, and when it was too long. A clock that the test sets; the limit is 100.
@Suite struct ActivityTests {
  private final class Time: Sendable {
    private let value = Lock<UInt64>(1000)
    var now: UInt64 { value.withLock { $0 } }
    func set(_ now: UInt64) { value.withLock { $0 = now } }
  }

  private let time = Time()
  private let activity: Activity

  init() { activity = Activity(limit: 100) { [time] in time.now } }

  private func use() -> Bool {
    guard activity.begin() else { return false }
    activity.finish()
    return true
  }

  /// The machine slept, and a program is quicker than the thread that watches.
  @Test func whoComesAfterTooLongASilenceIsRefused() {
    time.set(1099)
    #expect(use() && activity.lastRequest == 1099)
    time.set(1199)
    #expect(!use())
    #expect(activity.lastRequest == 1099)
    activity.waitForEnd(nanoseconds: .max / 4)
    // It does not come back.
    time.set(1100)
    #expect(!use())
  }

  @Test(.timeLimit(.minutes(1))) func theWatcherIsWoken() throws {
    try Thread.start("test-late") { [self] in
      Clock.sleep(nanoseconds: 100_000_000)
      time.set(5000)
      _ = use()
    }
    activity.waitForEnd(nanoseconds: .max / 4)
    #expect(time.now == 5000)
  }

  @Test func aRequestCountsToItsEnd() {
    #expect(activity.begin())
    time.set(1150)
    #expect(activity.lastRequest == 1150)
    #expect(use())
    time.set(1400)
    activity.finish()
    #expect(activity.lastRequest == 1400)
    time.set(1499)
    #expect(use())
  }

  /// Who reads from the caches is heard only after they were dropped, however long that takes.
  @Test func aSlowDropGivesMoreTime() {
    activity.extend(silence: 1000, until: nil)
    time.set(1500)
    activity.extend(silence: 1000, until: 1550)
    time.set(1549)
    #expect(use())
    // Of a silence that is over by now.
    activity.extend(silence: 1000, until: 9000)
    time.set(1649)
    #expect(!use())
  }

  /// However busy it is, from one instant on.
  @Test func theEndIsTheEnd() {
    let activity = Activity(limit: nil, end: 1500) { [time] in time.now }
    time.set(1400)
    #expect(activity.begin() && activity.begin())
    time.set(1499)
    activity.finish()
    #expect(activity.begin())
    time.set(1500)
    #expect(!activity.begin())
    activity.finish()
    time.set(.max / 2)
    #expect(!activity.begin())
  }

  @Test func withoutALimitNothingIsTooLong() {
    let activity = Activity(limit: nil) { [time] in time.now }
    time.set(.max / 2)
    #expect(activity.begin())
  }
}
