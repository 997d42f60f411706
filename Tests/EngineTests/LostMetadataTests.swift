import Crypto
import Disk
import Format
import POSIX
import TestKit
import Testing

@testable import Engine

/// Pages without which a vault is opened nevertheless.
@Suite struct LostMetadataTests {
  private func flip(_ disk: SimulatedDisk, _ id: PageID, of engine: Engine) throws {
    let slot = try engine.store.referenceForWriter(of: id).slot
    for copy in ["meta-a/0000", "meta-b/0000"] { disk.flipBit(of: copy, at: Int(slot) * 4096 * 8) }
  }

  /// Without the lineage nobody can say whether the state is the newest: it can be read, and who
  /// accepts an older one can write.
  @Test func aLostLineageIsForAPersonToDecideOn() throws {
    let vault = try TestVault()
    let state = SimulatedDisk()
    let first = try vault.open(anchor: state)
    let page = try first.makePages(1)[0]
    try first.close()
    // Another machine.
    try vault.open().close()
    let look = try vault.open { $0.readOnly = true }
    try flip(vault.disk, PageID(.lineage, 0), of: look)
    try look.close()

    let reading = try vault.open(anchor: state) { $0.readOnly = true }
    #expect(reading.warnings.contains(.olderAccepted))
    #expect(try reading.first(of: page) == 7)
    try reading.close()
    #expect(throws: EngineError.self) { _ = try vault.open(anchor: state) }
    let accepted = try vault.open(anchor: state) { $0.acceptOlder = true }
    #expect(accepted.warnings.contains(.olderAccepted))
    try accepted.makePages(1)
    try accepted.close()
    for _ in 0..<2 {
      let engine = try vault.open(anchor: state)
      #expect(!engine.warnings.contains(.olderAccepted))
      #expect(try engine.first(of: page) == 7)
      try engine.close()
    }
  }

  /// A page that memory still has, below a table that is lost: no root could name a change of it.
  @Test func whatIsBelowALostTableIsNotChanged() throws {
    let vault = try TestVault()
    let first = try vault.open()
    let pages = try (0..<40).flatMap { _ in try first.makePages(32) }
    try first.close()
    // The least there is: 64 pages stay, and those of the turn before.
    let engine = try vault.open { $0.cacheBytes = 0 }
    let table = PageID(.pages, pages[10]).table
    #expect(try engine.first(of: pages[10]) == 7)
    let rest = pages.filter { PageID(.pages, $0).table != table }
    for page in rest {
      #expect(try engine.first(of: page) == 7)
      #expect(try engine.first(of: pages[10]) == 7)
    }
    try flip(vault.disk, table, of: engine)
    #expect(throws: EngineError.self) {
      try engine.transact { (transaction) throws(EngineError) in
        try transaction.edit(PageID(.pages, pages[10])).store(UInt64(8), at: 0)
      }
    }
    try engine.transact { (transaction) throws(EngineError) in
      try transaction.edit(PageID(.pages, rest[0])).store(UInt64(8), at: 0)
    }
    try engine.close()
    let again = try vault.open()
    let isReadOnly = again.isReadOnly
    #expect(!isReadOnly)
    #expect(try again.first(of: rest[0]) == 8)
    try again.close()
  }

  /// A page that a frame changes is lost: the others are shown as of the end of the journal.
  @Test func aLostPageInTheJournalHidesNothingElse() throws {
    let vault = try TestVault()
    let first = try vault.open()
    let pages = try first.makePages(3)
    try first.close()
    let engine = try vault.open()
    let look = try vault.open(vault.disk.snapshot()) { $0.readOnly = true }
    try engine.transact { (transaction) throws(EngineError) in
      for page in pages { try transaction.edit(PageID(.pages, page)).store(UInt64(8), at: 0) }
    }
    let disk = vault.disk.snapshot()
    try flip(disk, PageID(.pages, pages[1]), of: look)
    #expect(throws: EngineError.self) { _ = try vault.open(disk) }
    let reading = try vault.open(disk) { $0.readOnly = true }
    #expect(try reading.first(of: pages[0]) == 8)
    #expect(try reading.first(of: pages[2]) == 8)
    // Even if it comes back: what the frame says of it is not in it.
    try flip(disk, PageID(.pages, pages[1]), of: look)
    #expect(throws: EngineError.self) { _ = try reading.first(of: pages[1]) }
    try reading.close()
    let again = try vault.open(disk)
    #expect(try again.first(of: pages[1]) == 8)
    try again.close()
  }
}
