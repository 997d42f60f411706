import POSIX
import TestKit
import Testing

@testable import Volume

/// Power loss everywhere: after each step of a scenario, and again while the mount after it
/// recovers.
///
/// `COFFRE_CRASH=<point>` repeats one, as a failure names it. `COFFRE_CRASH_SEEDS=<first>-<last>`
/// takes every step of those scenarios; otherwise a few scenarios give a sample.
@Suite(CountsCrashPoints()) struct CrashCampaignTests {
  private static let modes: [CrashMode] = [.keepAll, .dropAll, .random, .random]
  /// About so many steps of the disk a mount takes.
  private static let mountSteps = 40
  /// One in so many steps is taken in a sample.
  private static let sampling: UInt64 = 7

  private static let wanted: [UInt64] = {
    if System.environment("COFFRE_CRASH") != nil { return [] }
    guard let text = System.environment("COFFRE_CRASH_SEEDS") else { return Array(0..<8) }
    let limits = text.split(separator: "-").compactMap { UInt64($0) }
    guard let first = limits.first, let last = limits.last, first <= last else { return [] }
    return Array(first...last)
  }()

  private static let takesEveryStep = System.environment("COFFRE_CRASH_SEEDS") != nil

  @Test(arguments: wanted) func nothingIsLost(seed: UInt64) throws {
    let sampling = Self.takesEveryStep ? 1 : Self.sampling
    let campaign = try CrashCampaign(seed: seed) {
      var random = SplitMix64(seed: seed ^ UInt64($0))
      return random.next() % sampling == 0
    }
    var random = SplitMix64(seed: seed)
    var mountSteps = Self.mountSteps
    for moment in campaign.moments {
      for mode in Self.modes {
        let cut = CrashPoint.Cut(
          step: moment.step, mode: mode, seed: random.next() % 100_000)
        let next = CrashPoint.Cut(
          step: random.below(mountSteps), mode: random.pick(Self.modes),
          seed: random.next() % 100_000)
        // One failure is enough to look into; most of the others would say the same.
        if CountsCrashPoints.hasFailed.withLock({ $0 }) { return }
        if let complaint = lose(moment, cut, next, campaign, &mountSteps) {
          CountsCrashPoints.hasFailed.withLock { $0 = true }
          Issue.record("COFFRE_CRASH=\(complaint)")
          return
        }
      }
    }
  }

  /// A power loss and, while the mount recovers, a second one. What was wrong, if anything was.
  private func lose(
    _ moment: SimulatedMoment, _ cut: CrashPoint.Cut, _ next: CrashPoint.Cut,
    _ campaign: CrashCampaign, _ mountSteps: inout Int
  ) -> String? {
    let point = CrashPoint(campaign.seed, [cut])
    let first = campaign.mount(
      moment.crashed(seed: cut.seed, mode: cut.mode), mark: moment.mark, isKill: point.isKill,
      before: nil
    ) { $0 == next.step }
    CountsCrashPoints.total.withLock { $0 += 1 }
    if let complaint = first.complaint { return "\(point): \(complaint)" }
    mountSteps = max(first.mountSteps, 1)
    guard let second = first.moments.first else { return nil }
    let nested = point.then(next)
    let outcome = campaign.mount(
      second.crashed(seed: next.seed, mode: next.mode), mark: moment.mark, isKill: nested.isKill,
      before: cut.mode == .keepAll ? nil : first.listing
    ) { _ in false }
    CountsCrashPoints.total.withLock { $0 += 1 }
    return outcome.complaint.map { "\(nested): \($0)" }
  }

  @Test(.enabled(if: System.environment("COFFRE_CRASH") != nil)) func replay() throws {
    let text = System.environment("COFFRE_CRASH") ?? ""
    let point = try #require(CrashPoint(text))
    let complaint = try CrashCampaign.complaint(about: point)
    #expect(complaint == nil)
  }

  /// A point that is given again is the same power loss.
  @Test func pointsAreNamed() throws {
    let point = CrashPoint(17, [.init(step: 203, mode: .random, seed: 5)])
      .then(.init(step: 41, mode: .dropAll, seed: 99))
    #expect("\(point)" == "17:203:random:5/41:dropAll:99")
    #expect(CrashPoint("\(point)") == point)
    #expect(CrashPoint("17:203:random") == nil)
    #expect(CrashPoint("x:1:random:2") == nil)
  }
}

/// Says at the end how many power losses there were.
struct CountsCrashPoints: SuiteTrait, TestScoping {
  static let total = Lock(0)
  static let hasFailed = Lock(false)

  func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
  ) async throws {
    try await function()
    let total = Self.total.withLock { $0 }
    if test.isSuite { print("crash points: \(total)") }
  }
}
