import Bus
import POSIX
import Testing

@testable import Session

/// The connection to the system's bus, where it can't be had. What it hears is in LoginTests.
@Suite struct LoginWatchTests {
  private static let address = "unix:path=/nonexistent/coffre-bus"

  @Test func withoutABusNothingIsSaid() throws {
    let watch = LoginWatch(.complete) { _ throws(Errno) in
      Issue.record("nobody may be called")
      throw .noSuchFile
    }
    try watch.start(at: nil) { _ in }
    #expect(watch.problems == [])
  }

  /// A bus that nobody serves is looked for calmly, and the more so the longer it takes.
  @Test(.enabled(if: BusLibrary.load(), "no libsystemd.so.0 (package libsystemd0)"))
  func aMissingBusIsLookedForCalmly() throws {
    let attempts = Monitor<[UInt64]>([])
    let watch = LoginWatch(.complete, pause: 20_000_000) { _ throws(Errno) in
      attempts.withLock { $0.append(Clock.monotonic) }
      throw .refused
    }
    let start = Clock.monotonic
    try watch.start(at: Self.address) { _ in }
    let waited = Clock.monotonic - start
    #expect(waited < 900_000_000, "the mount does not wait for what is not there")
    attempts.withLock(when: { $0.count >= 7 }, timeout: 20_000_000_000) { times in
      #expect(times.count >= 7)
      let gaps = zip(times, times.dropFirst()).map { $1 - $0 }
      for (gap, least) in zip(gaps, [20, 40, 80, 160, 240, 240] as [UInt64]) {
        #expect(gap >= least * 1_000_000)
      }
    }
    #expect(watch.problems == [])
  }

  /// As once the process is confined: it is said once, and given up.
  @Test(
    .enabled(if: BusLibrary.load(), "no libsystemd.so.0 (package libsystemd0)"),
    arguments: [Errno.notPermitted, .accessDenied])
  func whereNoSocketMayBeOpenedThatIsSaid(_ refusal: Errno) throws {
    let attempts = Monitor(0)
    let watch = LoginWatch(.complete, pause: 10_000_000) { _ throws(Errno) in
      let count = attempts.withLock { count in
        count += 1
        return count
      }
      throw count == 1 ? .refused : refusal
    }
    try watch.start(at: Self.address) { _ in }
    var problems: [String] = []
    for _ in 0..<200 where problems.isEmpty {
      Clock.sleep(nanoseconds: 10_000_000)
      problems = watch.problems
    }
    #expect(problems.count == 1)
    #expect(problems.first?.contains("can't be reached again") == true)
    Clock.sleep(nanoseconds: 300_000_000)
    let count = attempts.withLock { $0 }
    #expect(count == 2)
  }
}
