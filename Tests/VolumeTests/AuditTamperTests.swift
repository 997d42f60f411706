import Bytes
import Disk
import Format
import POSIX
import TestKit
import Testing

@testable import Engine
@testable import Volume

/// Changes of the audit log, by whoever can write the disk, and by whoever has the keys.
@Suite struct AuditTamperTests {
  private let vault: AuditVault
  private let perPage = Int(AuditHead.perPage)
  private let stored = AuditEntry.size + AuditHead.chainSize

  init() throws {
    vault = try AuditVault()
    let volume = try vault.open()
    try volume.append((0..<100).map { AuditVault.entry(UInt64($0)) }, isClosing: false)
    try volume.close()
  }

  /// Pages are rewritten as a program with the password would: everything authenticates.
  private func forge(_ body: (Transaction) throws(EngineError) -> Void) throws -> AuditRecord {
    let disk = vault.disk.snapshot()
    var volume = try vault.open(disk)
    try volume.engine.transact { (transaction) throws(EngineError) in try body(transaction) }
    try volume.close()
    volume = try vault.open(disk, readOnly: true)
    let record = try volume.auditRecord()
    try volume.close()
    let damages = try vault.check(disk).damages
    #expect(damages.count == record.problems.count && damages.allSatisfy { $0.kind == .structure })
    return record
  }

  private func draft(
    of number: UInt64, in transaction: Transaction
  ) throws(EngineError) -> (Draft, Int) {
    let place = AuditHead.place(of: number)
    return (try transaction.edit(PageID(.system, place.page)), place.offset)
  }

  @Test(arguments: [1, 31, 32, 33, 100] as [UInt64]) func anAlteredEntryIsNoticed(
    number: UInt64
  ) throws {
    for offset in [8, 17, 22, 30, 41, 79] {
      let record = try forge { (transaction) throws(EngineError) in
        let (page, start) = try draft(of: number, in: transaction)
        page.store(page.bytes.load(UInt8.self, at: start + offset) ^ 1, at: start + offset)
      }
      #expect(record.problems == [.altered(number)], "byte \(offset)")
    }
  }

  /// With its own sum made good, the one after it shows it, or the head.
  @Test func aForgedSumIsNoticedByTheNext() throws {
    for number in [1, 32, 100] as [UInt64] {
      let record = try forge { (transaction) throws(EngineError) in
        let (page, start) = try draft(of: number, in: transaction)
        var before = [UInt8](repeating: 0, count: 32)
        if number > 1 {
          let (other, place) = try draft(of: number - 1, in: transaction)
          let sum = place + AuditEntry.size
          before = other.bytes.load(sum..<(sum + 32))
        }
        page.store(UInt64(77), at: start + 8)
        page.store(AuditLog.chain(before, page.bytes, start), at: start + AuditEntry.size)
      }
      #expect(record.problems == [number == 100 ? .cut : .altered(number + 1)])
    }
  }

  @Test func aDroppedEntryIsNoticed() throws {
    for number in [1, 50, 100] as [UInt64] {
      let record = try forge { (transaction) throws(EngineError) in
        let (page, start) = try draft(of: number, in: transaction)
        page.zero(start..<(start + stored))
      }
      #expect(record.problems == [.missing(number..<(number + 1))])
      #expect(record.entries.count == 99)
    }
  }

  @Test func anotherOrderIsNoticed() throws {
    let record = try forge { (transaction) throws(EngineError) in
      let (page, first) = try draft(of: 40, in: transaction)
      let (_, second) = try draft(of: 41, in: transaction)
      let saved = page.bytes.load(first..<(first + stored))
      page.store(page.bytes.load(second..<(second + stored)), at: first)
      page.store(saved, at: second)
    }
    #expect(record.problems == [.altered(40), .altered(41), .altered(42)])
  }

  /// The end cut off: the head counted down, too, and then only its sum shows it.
  @Test func aCutEndIsNoticed() throws {
    let record = try forge { (transaction) throws(EngineError) in
      let system = try transaction.edit(PageID(.system, 0))
      system.store(UInt64(98), at: SystemPage.audit)
    }
    #expect(record.problems == [.cut] && record.entries.count == 98)
  }

  /// Both copies of a page, flipped or put back as they were.
  @Test func whatTheDiskHoldsIsProved() throws {
    let volume = try vault.open()
    let older = vault.disk.snapshot()
    let oldSlot = try volume.slot(of: PageID(.system, 4))
    try volume.append((100..<110).map { AuditVault.entry(UInt64($0)) }, isClosing: false)
    try volume.close()
    let look = try vault.open(readOnly: true)
    let slot = try look.slot(of: PageID(.system, 4))
    try look.close()
    let old = try #require(older.content(of: "meta-a/0000"))
    let page = Array(old[(Int(oldSlot) * 4096)..<(Int(oldSlot) * 4096 + 4096)])
    for change in 0..<3 {
      let disk = vault.disk.snapshot()
      switch change {
      case 0: disk.flip(meta: slot)
      case 1: disk.flip(meta: slot, copies: ["meta-a"])
      default:
        for copy in ["meta-a", "meta-b"] {
          disk.overwrite("\(copy)/0000", at: Int(slot) * 4096, with: page)
        }
      }
      let damaged = try vault.open(disk, readOnly: true)
      let found = try damaged.auditRecord()
      try damaged.close()
      if change == 1 {
        #expect(found.problems == [] && found.entries.count == 110)
      } else {
        #expect(found.problems == [.unreadable(97..<111)] && found.entries.count == 96)
      }
    }
  }

  /// A page that is lost is given up by the next entry in it, or by a repair; both say so.
  @Test(arguments: [true, false]) func aLostPageIsGivenUp(byRepair: Bool) throws {
    for (page, numbers) in [(UInt32(4), 97..<101), (2, 33..<65)] as [(UInt32, Range<UInt64>)] {
      let disk = vault.disk.snapshot()
      let look = try vault.open(disk, readOnly: true)
      let slot = try look.slot(of: PageID(.system, page))
      try look.close()
      disk.flip(meta: slot)
      if byRepair { _ = try vault.check(disk, repairs: true) }
      let volume = try vault.open(disk)
      try volume.append([AuditVault.entry(500)], isClosing: false)
      let found = try volume.auditRecord()
      try volume.close()
      let isHealed = byRepair || page == 4
      #expect(found.problems == (isHealed ? [] : [.unreadable(numbers)]), "page \(page)")
      let lost = AuditEvent.lost(from: numbers.lowerBound, to: numbers.upperBound)
      #expect(found.entries.contains { $0.event == lost } == isHealed)
      #expect(found.entries.last?.event == AuditVault.entry(500).event)
      let left = try vault.check(disk).damages
      #expect(left.isEmpty == isHealed, "\(left.map(\.text))")
    }
  }

  /// Where the log is, is no number that Coffre writes: an error, and the rest of the vault works.
  @Test func aBadHeadIsAnError() throws {
    let volume = try vault.open()
    try volume.engine.transact { (transaction) throws(EngineError) in
      try transaction.edit(PageID(.system, 0)).store(UInt64.max, at: SystemPage.audit)
    }
    #expect(throws: VolumeError.self) { try volume.auditRecord() }
    #expect(throws: VolumeError.self) {
      try volume.append([AuditVault.entry(1)], isClosing: false)
    }
    _ = try volume.makeDirectory(
      FileName("new"), in: .root, mode: 0o755, by: Caller(user: 0, group: 0, mask: 0))
    try volume.close()
    let damages = try vault.check().damages
    #expect(damages.map(\.kind) == [.structure])
  }
}

/// Notes, which wait outside of the vault.
@Suite struct AuditNoteTests {
  private let vault: AuditVault
  init() throws { vault = try AuditVault() }

  private func joined(_ notes: [Buffer]) -> Buffer {
    Buffer(notes.flatMap { $0.load(0..<$0.count) })
  }

  @Test func theyAreTakenOverOnce() throws {
    let volume = try vault.open()
    let notes = try (0..<3).map { try volume.seal(AuditVault.entry(UInt64($0))) }
    // The second twice, as if somebody had written it again.
    let file = joined(notes + [notes[1]])
    let found = try volume.newEntries(ofNotes: file)
    #expect(found.map(\.event) == (0..<3).map { AuditVault.entry(UInt64($0)).event })
    #expect(found.allSatisfy { $0.isNoted && $0.number == 0 })
    try volume.append(found, isClosing: false)
    let again = try volume.newEntries(ofNotes: joined(Array(notes[1...])))
    #expect(again == [])
    try volume.close()
  }

  @Test func nobodyElseWritesOne() throws {
    let volume = try vault.open()
    let other = try AuditVault().open()
    let own = try volume.seal(AuditVault.entry(1))
    let foreign = try other.seal(AuditVault.entry(2))
    var flipped = own.load(0..<own.count)
    flipped[40] ^= 1
    let found = volume.entries(
      ofNotes: joined([foreign, Buffer(flipped), own, Buffer([UInt8](repeating: 7, count: 50))]))
    #expect(found.map(\.event) == [AuditVault.entry(1).event])
    try other.close()
    try volume.close()
    let late = volume.entries(ofNotes: own)
    #expect(late == [])
  }
}
