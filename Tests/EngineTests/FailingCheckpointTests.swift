import Crypto
import Disk
import Format
import POSIX
import TestKit
import Testing

@testable import Engine

/// Checkpoints that cannot be made: they cost nothing, and whoever has to know is told.
@Suite struct FailingCheckpointTests {
  private func setCapacity(_ vault: borrowing TestVault) { vault.disk.capacity = vault.disk.used }

  /// Each try would take a segment, until the disk is full of them.
  @Test func triesWithoutRoomTakeNoSegments() throws {
    let vault = try TestVault()
    let engine = try vault.open()
    // More than there is room for, as a sudden need would be.
    try engine.makePages(20)
    setCapacity(vault)
    let limit = engine.metaAllocator.limit
    engine.health.withLock { $0.metaUsed = limit - 3 }
    while (try? engine.metaAllocator.take(64, near: 0)) != nil {}
    let before = vault.disk.journal
    for _ in 0..<10 { #expect(throws: EngineError.self) { try engine.checkpoint() } }
    let after = vault.disk.journal
    #expect(before == after)
    let isReadOnly = engine.isReadOnly
    #expect(!isReadOnly)
  }

  /// A checkpoint that was given up after the switch leaves a segment the next one uses.
  @Test func aGivenUpTryLeavesItsSegmentToTheNext() throws {
    let vault = try TestVault()
    let engine = try vault.open()
    try engine.makePages(5)
    vault.disk.fault = { $0.kind == .write && $0.object.hasPrefix("meta-") ? .noMemory : nil }
    for _ in 0..<10 { #expect(throws: EngineError.self) { try engine.checkpoint() } }
    vault.disk.fault = nil
    let segments = vault.disk.journal.count
    #expect(segments <= 2 + SegmentPool.target)
    try engine.checkpoint()
    try engine.close()
    let again = try vault.open()
    #expect(try again.first(of: 1) == 7)
    try again.close()
  }

  /// A frame that failed has released slots in memory alone: no checkpoint that is on its way may
  /// take them for free, even if it needs no new segment.
  @Test func aCheckpointUnderWayStopsWhereTheVolumeTurnedReadOnly() throws {
    let vault = try TestVault()
    let engine = try vault.open()
    try engine.makePages(5)
    vault.disk.fault = { $0.kind == .write && $0.object.hasPrefix("meta-") ? .noMemory : nil }
    #expect(throws: EngineError.self) { try engine.checkpoint() }
    vault.disk.fault = nil
    let filled = try #require(engine.journal).filled
    #expect(filled == 0)
    let root = engine.checkpointing.withLock { $0.root }
    // It has passed its first look; now another thread's frame fails.
    engine.turnReadOnly("a test")
    #expect(throws: EngineError.readOnly("a test")) { _ = try engine.takeSnapshot(root) }
  }

  /// Nothing was lost yet as far as anybody knows; but what was appended since may be.
  @Test func closingAfterASyncFailedTellsIt() throws {
    let vault = try TestVault()
    let engine = try vault.open()
    try engine.makePages(10)
    vault.disk.fault = { $0.kind == .sync && $0.object.hasPrefix("journal/") ? .ioError : nil }
    #expect(throws: EngineError.self) { try engine.syncJournal() }
    vault.disk.fault = nil
    #expect(throws: EngineError.self) { try engine.close() }
  }

  /// Without a root the journal keeps what was done last, and it is synced.
  @Test func closingWithoutACheckpointSyncsTheJournal() throws {
    let vault = try TestVault()
    let engine = try vault.open()
    let pages = try engine.makePages(10)
    vault.disk.fault = { $0.kind == .write && $0.object.hasPrefix("meta-") ? .noSpace : nil }
    #expect(throws: EngineError.self) { try engine.close() }
    vault.disk.fault = nil
    let again = try vault.open(vault.disk.crashed(seed: 1, mode: .dropAll))
    #expect(try again.first(of: pages[9]) == 7)
    try again.close()
  }

  /// Somebody else may have written: a slot that seems bad may be theirs.
  @Test func aVolumeThatTurnedReadOnlyHealsNothing() throws {
    let vault = try TestVault()
    let first = try vault.open()
    let page = try first.makePages(3)[1]
    try first.close()
    let engine = try vault.open()
    let slot = try engine.store.referenceForWriter(of: PageID(.pages, page)).slot
    vault.disk.flipBit(of: "meta-a/0000", at: Int(slot) * 4096 * 8)
    let flipped = vault.disk.content(of: "meta-a/0000")
    engine.turnReadOnly("a test")
    #expect(try engine.first(of: page) == 7)
    let isSame = vault.disk.content(of: "meta-a/0000") == flipped
    #expect(isSame)
    #expect(throws: EngineError.self) { try engine.close() }
  }

  /// Frames go on while a checkpoint is slow, but not without end.
  @Test func segmentsAreBounded() throws {
    let vault = try TestVault(segmentBytes: 64 << 10)
    let engine = try vault.open()
    for _ in 0..<150 {
      try engine.transact { (transaction) throws(EngineError) in
        for _ in 0..<3 {
          try transaction.allocatePage().page.store([UInt8](repeating: 9, count: 4000), at: 0)
        }
      }
      let count = vault.disk.journal.count
      #expect(count <= 18)
    }
    try engine.close()
  }

  @Test func aClosedEngineTellsNothing() throws {
    let vault = try TestVault()
    let engine = try vault.open()
    let pages = try engine.makePages(2)
    try engine.close()
    #expect(throws: EngineError.closed) { _ = try engine.first(of: pages[0]) }
    let keys = engine.store.keys.count
    #expect(keys == 0)
  }
}
