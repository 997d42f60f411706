import Disk
import Format
import POSIX
import TestKit
import Testing

@testable import Engine

/// What the engine tells of its stored pieces while it is in use.
@Suite struct EngineScrubTests {
  private func checkPages(_ engine: Engine) -> (count: Int, bad: [PageCheck]) {
    let scratch = CheckScratch()
    var count = 0
    var bad: [PageCheck] = []
    var place: UInt64? = 0
    while let current = place {
      place = engine.checkPages(from: current, limit: 16, scratch: scratch) { check in
        count += 1
        if !check.bad.isEmpty { bad.append(check) }
      }
    }
    return (count, bad)
  }

  /// Everything the trees name is looked at once, tables included.
  @Test func everyNamedSlotIsChecked() throws {
    let vault = try TestVault()
    let engine = try vault.open()
    try engine.makePages(400)
    try engine.checkpoint()
    let found = checkPages(engine)
    #expect(UInt64(found.count) == engine.usedMetaSlots)
    #expect(found.count > 400 && found.bad.isEmpty)
    try engine.close()
  }

  /// A writable engine heals a bad copy from the good one, and counts it; two bad ones stay.
  @Test func aBadCopyIsHealed() throws {
    let vault = try TestVault()
    let engine = try vault.open()
    let pages = try engine.makePages(3)
    try engine.checkpoint()
    let slots = try pages.map { page in
      try engine.store.tree.withRead { () throws(EngineError) in
        try engine.store.reference(of: PageID(.pages, page)).slot
      }
    }
    vault.disk.flipBit(of: "meta-a/0000", at: Int(slots[0]) * 32768 + 5)
    vault.disk.flipBit(of: "meta-b/0000", at: Int(slots[1]) * 32768 + 5)
    for copy in ["meta-a/0000", "meta-b/0000"] {
      vault.disk.flipBit(of: copy, at: Int(slots[2]) * 32768 + 5)
    }
    let found = checkPages(engine).bad.sorted { $0.id.index < $1.id.index }
    #expect(found.map { $0.slot } == slots)
    #expect(found.map { $0.bad } == [[0], [1], [0, 1]])
    #expect(found.map { $0.isHealed } == [true, true, false])
    #expect(engine.healedCopies == 2)
    #expect(checkPages(engine).bad.map { $0.slot } == [slots[2]])
  }

  /// The rest of the vault is checked behind a table that is lost.
  @Test func aLostTableHidesOnlyWhatIsBelow() throws {
    let vault = try TestVault()
    try vault.open().makeManyPages()
    let table = PageID(.pages, 0, level: 1)
    let engine = try vault.open()
    let slot = try engine.store.tree.withRead { () throws(EngineError) in
      try engine.store.reference(of: table).slot
    }
    let all = checkPages(engine).count
    try engine.close()
    for copy in ["meta-a/0000", "meta-b/0000"] {
      vault.disk.flipBit(of: copy, at: Int(slot) * 32768 + 5)
    }
    let damaged = try vault.open { $0.readOnly = true }
    let found = checkPages(damaged)
    #expect(found.bad.map { $0.id } == [table] && found.bad.first?.isLost == true)
    // Page 0 is never used, and the root of this session is not the one before.
    #expect(all - found.count >= 120 && all - found.count <= 135)
  }

  @Test func aBadCopyOfTheRootIsHealed() throws {
    let vault = try TestVault()
    let engine = try vault.open()
    let healthy = engine.checkRoots()
    #expect(healthy.isEmpty)
    vault.disk.flipBit(of: "root.1", at: 999)
    let found = engine.checkRoots()
    #expect(found.map { $0.object } == ["root.1"] && found.map { $0.isHealed } == [true])
    #expect(engine.checkRoots().isEmpty && engine.healedCopies == 1)
    try engine.checkpoint()
    try engine.close()
  }

  /// Frames that were durable and can't be read are told before the next mount needs them.
  @Test func aDamagedJournalIsTold() throws {
    let vault = try TestVault()
    let engine = try vault.open()
    for _ in 0..<5 { try engine.makePages(2) }
    try engine.syncJournal()
    let healthy = engine.checkJournal()
    #expect(healthy.isEmpty)
    let object = try #require(engine.journal).segmentName.number
    let name = SegmentCodec.fileName(object)
    vault.disk.flipBit(of: name, at: 8 * 60)
    let found = engine.checkJournal()
    #expect(found.map { $0.object } == [name])
    // With a new root it is of no use any more.
    try engine.checkpoint()
    let after = engine.checkJournal()
    #expect(after.isEmpty)
    try engine.close()
  }
}

extension Engine {
  /// Enough pages for a table above them, under a root of their own.
  fileprivate func makeManyPages() throws {
    try makePages(400)
    try close()
  }
}
