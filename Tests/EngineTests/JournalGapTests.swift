import Crypto
import Disk
import Format
import POSIX
import TestKit
import Testing

@testable import Engine

/// What can be done about a gap in the journal: look at what is before it, or go on from there.
@Suite struct JournalGapTests {
  private let scene: JournalScene
  /// A disk on which the second of four frames is damaged.
  private let damaged: SimulatedDisk
  private let gap: JournalGap

  init() throws {
    scene = try JournalScene()
    for _ in 0..<2 { try scene.appendSynced() }
    try scene.switchSegment()
    for _ in 0..<2 { try scene.appendSynced() }
    let frame = scene.frames[2]
    damaged = scene.disk(flipping: frame.bytes.lowerBound + 100, of: frame.segment)
    gap = JournalGap(object: frame.segment, cause: .damaged, framesBehind: 3)
  }

  @Test func aRefusedOpeningWritesNothing() throws {
    damaged.keepsCalls = true
    #expect(try scene.gap(on: damaged) == gap)
    let steps = damaged.calls.filter { $0.kind.isStep }
    #expect(steps == [])
  }

  @Test func readOnlyShowsWhatIsBeforeAndWritesNothing() throws {
    damaged.keepsCalls = true
    let engine = try scene.vault.open(damaged) { $0.readOnly = true }
    #expect(engine.told == [.journalCut(gap)])
    #expect(engine.count(of: scene.frames) == 1)
    #expect(throws: EngineError.self) { try engine.makePages(1) }
    try engine.close()
    let steps = damaged.calls.filter { $0.kind.isStep }
    #expect(steps == [])
  }

  @Test func acceptedLossIsForGood() throws {
    let engine = try scene.vault.open(damaged) { $0.acceptJournalLoss = true }
    #expect(engine.told == [.journalLossAccepted(gap)])
    #expect(engine.count(of: scene.frames) == 1)
    let stops = engine.checkpointing.withLock { $0.root.uncleanStops }
    #expect(stops == 65)
    let more = try engine.makePages(3, first: 9)
    try engine.close()
    let again = try scene.vault.open(damaged)
    #expect(again.told == [])
    #expect(try again.first(of: more[2]) == 9)
    try again.close()
    let segments = damaged.journal.count
    #expect(segments == 1 + SegmentPool.target)
  }

  /// Accepting is for a gap alone.
  @Test func acceptingNothingChangesNothing() throws {
    let engine = try scene.vault.open(scene.disk.snapshot()) { $0.acceptJournalLoss = true }
    #expect(engine.told == [.recovered(frames: 6)])
    #expect(engine.count(of: scene.frames) == 4)
    let stops = engine.checkpointing.withLock { $0.root.uncleanStops }
    #expect(stops == 1)
  }

  /// Whenever the power is lost while a loss is being accepted, it can be accepted again, or is.
  @Test(arguments: [CrashMode.keepAll, .dropAll, .prefix, .subset])
  func acceptingSurvivesAPowerLoss(mode: CrashMode) throws {
    for point in 0..<100 {
      let disk = damaged.snapshot()
      disk.stopAfter = point
      let isDone = (try? scene.vault.open(disk) { $0.acceptJournalLoss = true }) != nil
      for seed in 0..<2 as Range<UInt64> {
        let crashed = disk.crashed(seed: seed, mode: mode)
        let now = try scene.gap(on: crashed.snapshot())
        #expect(now == nil || now == gap, "point \(point) seed \(seed)")
        let engine = try scene.vault.open(crashed) { $0.acceptJournalLoss = true }
        #expect(engine.count(of: scene.frames) == 1, "point \(point) seed \(seed)")
        try engine.close()
      }
      if isDone {
        #expect(point > 10)
        return
      }
    }
    Issue.record("an opening takes less than 100 steps")
  }

  /// Segments come and go, under numbers that can be foretold and seeds that can't: whenever the
  /// power is lost in an opening, nothing left by it is taken for damage.
  @Test(arguments: [CrashMode.keepAll, .dropAll, .prefix, .subset])
  func anOpeningThatIsCutLeavesNoDamage(mode: CrashMode) throws {
    // The switch frame is lost, the next segment is not; nothing of either was synced.
    let scene = try JournalScene()
    try scene.appendSynced()
    let lost = try scene.switchSegment()
    try scene.append()
    let start = try scene.settledDisk(losing: [lost])
    var isDone = false
    var point = 0
    while !isDone {
      let disk = start.snapshot()
      disk.stopAfter = point
      isDone = (try? scene.vault.open(disk)) != nil
      for seed in 0..<2 as Range<UInt64> {
        let crashed = disk.crashed(seed: seed, mode: mode)
        let engine = try scene.vault.open(crashed)
        #expect(engine.count(of: scene.frames) == 1, "point \(point) seed \(seed)")
        try engine.makePages(1)
        try engine.close()
      }
      point += 1
    }
    #expect(point > 10)
  }
}
