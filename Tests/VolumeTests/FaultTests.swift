import POSIX
import TestKit
import Testing

@testable import Volume

/// Every call on the disk fails in turn, once or until the cause is gone.
///
/// The error reaches the caller or the operation is done all the same; no file becomes unreadable;
/// after the fault the volume works on or is read-only and says why; what a sync called good is
/// there after a power loss, whatever failed before it.
@Suite struct FaultTests {
  /// All calls of several scenarios, instead of some of one.
  private static let isSoak = System.environment("COFFRE_SOAK") == "1"

  @Test(arguments: FaultPlan.Kind.allCases, [false, true])
  func everyCallFails(kind: FaultPlan.Kind, lasts: Bool) throws {
    var (runs, readOnly) = (0, 0)
    for seed in (Self.isSoak ? 0 : 1)..<2 as Range<UInt64> {
      let vault = try FaultVault(seed: seed)
      var whole = FaultRun(FaultPlan(kind, at: .max, lasts: false), vault)
      whole.run(vault)
      #expect(whole.complaints == [], "seed \(seed) without a fault")
      let calls = whole.plan.seen
      #expect(calls > 10, "there is something to fail")
      var random = SplitMix64(seed: seed &+ UInt64(lasts ? 100 : 0))
      var point = 0
      while point < calls {
        var run = FaultRun(FaultPlan(kind, at: point, lasts: lasts), vault)
        run.run(vault)
        let complaints = run.complaints
        #expect(complaints == [], "\(kind) lasts \(lasts) seed \(seed) point \(point)")
        runs += 1
        if run.isReadOnly { readOnly += 1 }
        point += Self.isSoak ? 1 : 1 + random.below(2 * calls / 8)
      }
    }
    print("faults: \(kind) \(lasts ? "lasting" : "once"): \(runs) runs, \(readOnly) read-only")
  }
}
