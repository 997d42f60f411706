import Bus
import POSIX
import TestKit
import Testing

@testable import Session

/// The connection to the system's bus, where it can't be had. What it hears is in LoginTests.
@Suite struct LoginWatchTests {
  private static let address = "unix:path=/nonexistent/coffre-bus"

  private final class Heard: Sendable {
    let problems = Monitor<[String?]>([])
    var listener: LoginWatch.Listener {
      LoginWatch.Listener(onEvent: { _ in Issue.record("nothing happens") }) { [problems] problem in
        problems.withLock { $0.append(problem) }
      }
    }
    var all: [String?] { problems.withLock { $0 } }
  }

  @Test func withoutABusNothingIsSaid() throws {
    let heard = Heard()
    let watch = LoginWatch(.complete, heard.listener) { _ throws(Errno) in
      Issue.record("nobody may be called")
      throw .noSuchFile
    }
    try watch.start(at: nil)
    #expect(heard.all == [])
  }

  /// A bus that nobody serves is told of, once, and looked for calmly, and the more so the longer
  /// it takes.
  @Test(
    .enabled(if: BusLibrary.load(), "no libsystemd.so.0 (package libsystemd0)"),
    arguments: [Errno.refused, .accessDenied, .noSuchFile])
  func aMissingBusIsToldOfAndLookedForCalmly(_ refusal: Errno) throws {
    let attempts = Monitor<[UInt64]>([])
    let heard = Heard()
    let watch = LoginWatch(.complete, heard.listener, pause: 20_000_000) { _ throws(Errno) in
      attempts.withLock { $0.append(Clock.monotonic) }
      throw refusal
    }
    let start = Clock.monotonic
    try watch.start(at: Self.address)
    let waited = Clock.monotonic - start
    #expect(waited < 900_000_000, "the mount does not wait for what is not there")
    let first = heard.all
    #expect(first.count == 1 && first[0]?.contains("the system bus can't be reached") == true)
    attempts.withLock(when: { $0.count >= 7 }, timeout: 20_000_000_000) { times in
      #expect(times.count >= 7)
      let gaps = zip(times, times.dropFirst()).map { $1 - $0 }
      for (gap, least) in zip(gaps, [20, 40, 80, 160, 240, 240] as [UInt64]) {
        #expect(gap >= least * 1_000_000)
      }
    }
    let last = heard.all
    #expect(last == first)
  }

  /// One that takes a connection and says nothing.
  @Test(.enabled(if: BusLibrary.load(), "no libsystemd.so.0 (package libsystemd0)"))
  func aBusThatIsSilentIsToldOf() throws {
    let scratch = ScratchDirectory()
    let listener = try System.listen(at: scratch.path("bus"))
    let heard = Heard()
    let watch = LoginWatch(.complete, heard.listener, patience: 100_000_000)
    try watch.start(at: "unix:path=" + scratch.path("bus"))
    let problems = heard.all
    #expect(problems.count == 1)
    #expect(problems.first.flatMap(\.self)?.contains("does not answer yet") == true)
    // Its end ends the wait of the thread.
    withExtendedLifetime(listener) {}
  }
}

/// What is to be done from time to time is, however many signals come meanwhile.
@Suite struct PaceTests {
  @Test func aWakingDoesNotPutItOff() {
    var pace = Pace(interval: 10, since: 100)
    var due: [UInt64] = []
    for time in [100, 104, 109, 117, 118, 126, 127, 136] as [UInt64] {
      if pace.isDue(at: time) { due.append(time) }
    }
    #expect(due == [117, 127])
    #expect(pace.left(at: 127) == 10 && pace.left(at: 136) == 1 && pace.left(at: 200) == 0)
  }
}

/// Nobody waits for who is told.
@Suite struct TellerTests {
  @Test func whoeverTellsDoesNotWait() {
    let gate = Monitor(false)
    let told = Lock<[Int]>([])
    let teller = Teller()
    teller.tell { gate.withLock(when: { $0 }, timeout: 20_000_000_000) { _ in } }
    for number in 0..<3 { teller.tell { told.withLock { $0.append(number) } } }
    let start = Clock.monotonic
    teller.finish(nanoseconds: 50_000_000)
    let waited = Clock.monotonic - start
    #expect(waited < 5_000_000_000)
    #expect(told.withLock { $0 } == [])
    gate.withLock { $0 = true }
    teller.finish(nanoseconds: 20_000_000_000)
    #expect(told.withLock { $0 } == [0, 1, 2], "in their order")
    teller.tell { told.withLock { $0.append(3) } }
    teller.finish(nanoseconds: 20_000_000_000)
    #expect(told.withLock { $0 } == [0, 1, 2, 3], "and once more")
  }
}
