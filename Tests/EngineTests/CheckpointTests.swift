import Crypto
import Disk
import Format
import POSIX
import TestKit
import Testing

@testable import Engine

/// Checkpoints where something goes wrong (invariants I6, I8, I9 and I11).
@Suite struct CheckpointTests {
  // What fails is told with all that is in it: an engine or a disk would never end.
  private func expect(_ engine: Engine, isReadOnly expected: Bool, _ comment: Comment? = nil) {
    let isReadOnly = engine.isReadOnly
    #expect(isReadOnly == expected, comment)
  }

  private func roots(of vault: borrowing TestVault) -> [[UInt8]?] {
    RootFiles.names.map { vault.disk.content(of: $0) }
  }

  @Test func aRootOfAnotherSessionIsNotOverwritten() throws {
    let vault = try TestVault()
    let mine = try vault.open()
    // Another machine, which the lock does not reach.
    let other = try vault.open()
    try other.makePages(1)
    try other.checkpoint()
    let roots = self.roots(of: vault)
    try mine.makePages(1)
    let reason = "another program has written to this vault"
    #expect(throws: EngineError.readOnly(reason)) { try mine.checkpoint() }
    expect(mine, isReadOnly: true)
    #expect(throws: EngineError.readOnly(reason)) { try mine.makePages(1) }
    #expect(throws: EngineError.readOnly(reason)) { try mine.close() }
    let isUntouched = self.roots(of: vault) == roots
    #expect(isUntouched)
    expect(other, isReadOnly: false)
  }

  @Test func oneForeignCopyIsEnoughToStop() throws {
    let vault = try TestVault()
    let mine = try vault.open()
    let copy = vault.disk.snapshot()
    let other = try vault.open(copy)
    try other.close()
    let foreign = try #require(copy.content(of: "root.1"))
    vault.disk.replace("root.1", with: foreign)
    let roots = self.roots(of: vault)
    #expect(throws: EngineError.self) { try mine.checkpoint() }
    expect(mine, isReadOnly: true)
    let isUntouched = self.roots(of: vault) == roots
    #expect(isUntouched)
  }

  /// Killed between the write of the second copy and its sync, then a power loss in the next mount:
  /// the copy that was read may not be on the disk, and the one before it names an old segment.
  @Test func bothCopiesLastBeforeAnythingElseIsWritten() throws {
    let vault = try TestVault()
    let engine = try vault.open()
    try engine.makePages(1)
    vault.disk.keepsCalls = true
    vault.disk.record { _ in true }
    try engine.checkpoint()
    let syncs = vault.disk.calls.filter { $0.kind == .sync && $0.object.hasPrefix("root.") }
    let step = try #require(syncs.dropFirst().first).step
    let moment = try #require(vault.disk.takeMoments().first { $0.step == step })
    let killed = moment.crashed(seed: 0, mode: .keepAll)
    killed.record { _ in true }
    _ = try vault.open(killed)
    let moments = killed.takeMoments()
    #expect(moments.count > 10)
    for moment in moments {
      for (seed, mode) in [(1, .dropAll), (2, .random), (3, .random)] as [(UInt64, CrashMode)] {
        let disk = moment.crashed(seed: seed, mode: mode)
        do { _ = try vault.open(disk) } catch {
          Issue.record("step \(moment.step) \(mode) \(seed): \(error)")
        }
      }
    }
  }

  @Test func aDamagedCopyOfItsOwnIsOverwritten() throws {
    let vault = try TestVault()
    let engine = try vault.open()
    vault.disk.flipBit(of: "root.0", at: 8 * 100)
    try engine.checkpoint()
    expect(engine, isReadOnly: false)
    let copies = self.roots(of: vault)
    let isMended = copies[0] == copies[1]
    #expect(isMended)
    try engine.close()
  }

  /// On a disk without a byte to spare, whenever the power is lost, the vault opens, can be
  /// changed, and has no more segments than before.
  @Test(arguments: [CrashMode.dropAll, .prefix, .subset])
  func aCrashInACheckpointOnAFullDiskLeavesAWritableVault(mode: CrashMode) throws {
    let vault = try TestVault()
    let engine = try vault.open()
    let pages = try engine.makePages(20)
    try engine.syncJournal()
    vault.disk.capacity = vault.disk.used
    let steps = try steps(of: vault.disk.snapshot(), vault)
    #expect(steps > 10)
    for point in 0...steps {
      let disk = vault.disk.snapshot()
      let engine = try vault.open(disk)
      let more = try engine.makePages(20, first: 9, frees: true)
      try engine.syncJournal()
      disk.stopAfter = disk.steps + point
      try? engine.checkpoint()
      let crashed = disk.crashed(seed: UInt64(point), mode: mode)
      let again = try vault.open(crashed)
      expect(again, isReadOnly: false, "point \(point)")
      #expect(try again.first(of: pages[0]) == 7, "point \(point)")
      #expect(try again.first(of: more[19]) == 9, "point \(point)")
      try again.makePages(1, frees: true)
      try again.checkpoint()
      let segments = crashed.journal.count
      #expect(segments <= 1 + SegmentPool.target, "point \(point)")
      try again.close()
    }
  }

  private func steps(of disk: SimulatedDisk, _ vault: borrowing TestVault) throws -> Int {
    let engine = try vault.open(disk)
    try engine.makePages(20, first: 9, frees: true)
    let before = disk.steps
    try engine.checkpoint()
    return disk.steps - before
  }

  @Test func aFullDiskFailsACheckpointWithoutEndingTheSession() throws {
    let vault = try TestVault()
    let engine = try vault.open()
    try engine.makePages(10)
    vault.disk.fault = { $0.kind == .write && $0.object.hasPrefix("meta-") ? .noSpace : nil }
    #expect(throws: EngineError.self) { try engine.checkpoint() }
    expect(engine, isReadOnly: false)
    vault.disk.fault = nil
    try engine.checkpoint()
    try engine.close()
    let again = try vault.open()
    #expect(try again.first(of: 1) == 7)
    try again.close()
  }

  /// The writer that comes next, such as a checkpoint under way, must not take another spare.
  @Test func aFailedSwitchEndsTheSession() throws {
    let scene = try JournalScene()
    try scene.appendSynced()
    scene.disk.fault = { $0.kind == .write ? .ioError : nil }
    #expect(throws: EngineError.self) { try scene.switchSegment() }
    scene.disk.fault = nil
    expect(scene.engine, isReadOnly: true)
    let reason = try #require(scene.engine.failure)
    #expect(throws: EngineError.readOnly(reason)) { try scene.switchSegment() }
    let engine = try scene.vault.open(scene.disk.snapshot())
    #expect(engine.count(of: scene.frames) == 1)
  }

  @Test(arguments: [Errno.ioError, .noSpace, .overQuota])
  func aFailedSyncOfMetadataEndsTheSession(errno: Errno) throws {
    let vault = try TestVault()
    let engine = try vault.open()
    try engine.makePages(10)
    let roots = self.roots(of: vault)
    vault.disk.fault = { $0.kind == .sync && $0.object.hasPrefix("meta-") ? errno : nil }
    #expect(throws: EngineError.self) { try engine.checkpoint() }
    vault.disk.fault = nil
    expect(engine, isReadOnly: true)
    #expect(throws: EngineError.self) { try engine.checkpoint() }
    let isUntouched = self.roots(of: vault) == roots
    #expect(isUntouched)
    let again = try vault.open()
    #expect(try again.first(of: 1) == 7)
    try again.close()
  }

  /// Memory for what no root contains is bounded, even where no thread makes checkpoints.
  @Test func changesWaitForACheckpointWhenManyPagesAreDirty() throws {
    let vault = try TestVault(segmentBytes: 8 << 20)
    let engine = try vault.open()
    let before = engine.health.withLock { $0.checkpoints }
    let limit = 4 * Engine.dirtyLimit
    var most = 0
    for _ in 0..<(limit / 2000 + 2) {
      try engine.makePages(2000)
      most = max(most, engine.store.dirtyCount)
    }
    #expect(most <= limit + 2100)
    let left = engine.store.dirtyCount
    #expect(left < limit)
    let after = engine.health.withLock { $0.checkpoints }
    #expect(after > before)
    try engine.close()
  }
}
