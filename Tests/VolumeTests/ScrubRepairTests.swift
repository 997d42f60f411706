import Bytes
import Crypto
import Format
import POSIX
import TestKit
import Testing

@testable import Engine
@testable import Volume

/// `verify --repair` on the volume: it mends what can be mended and deletes nothing.
@Suite struct ScrubRepairTests {
  private func filled() throws -> ScrubbedVault {
    let vault = try ScrubbedVault()
    try vault.fill()
    return vault
  }

  /// Runs a change behind the volume's back.
  private func spoil(
    _ vault: borrowing ScrubbedVault, _ body: (Transaction) throws(EngineError) -> Void
  ) throws {
    let volume = try vault.open()
    try volume.engine.transact(frees: true, body)
    try volume.close()
  }

  private func expectClean(_ vault: borrowing ScrubbedVault) throws {
    let left = try vault.repair().map { $0.text }
    #expect(left == [])
    let after = try vault.check().damages.map { $0.text }
    #expect(after == [])
  }

  /// A leaf of a large directory: the rest of it can be listed, and its files come to lost+found.
  @Test func lostNamesComeToLostAndFound() throws {
    let vault = try filled()
    let look = try vault.open(readOnly: true)
    let top = try look.record(at: "many").top
    let child = try look.engine.read { (pages) throws(EngineError) in
      try PageTree.node(top, in: pages).child(1)
    }
    let slot = try look.slot(of: PageID(.pages, child))
    try look.close()
    vault.disk.flip(meta: slot)

    let damaged = try vault.open(readOnly: true)
    let listed = try damaged.list("many")
    #expect(listed.names.count > 100 && listed.names.count < 301 && !listed.isWhole)
    #expect(damaged.statistics.unreadablePieces > 0)
    try damaged.close()
    let report = try vault.check(quick: true)
    let lost = report.damages.filter { $0.kind == .page }.map { $0.text }
    #expect(lost == ["page meta-a/0000+meta-b/0000 \(slot) many -"])
    let nameless = report.damages.count { $0.kind == .nameless }
    #expect(nameless == 301 - listed.names.count)

    try expectClean(vault)
    let volume = try vault.open()
    let rest = try volume.list("many")
    #expect(rest.isWhole && rest.names.sorted() == listed.names.sorted())
    let found = try volume.list("lost+found").names
    #expect(found.count == nameless && found.allSatisfy { $0.hasPrefix("#") })
    let attributes = try volume.attributes(of: volume.find("lost+found"))
    #expect(attributes.mode == FileMode.directory | 0o700)
    // The directory is whole again: names can be made and removed wherever they fall.
    let many = try volume.find("many")
    for index in 0..<400 {
      _ = try volume.makeNode(
        FileName("new \(index)"), in: many, mode: 0o100644, device: 0, by: vault.caller)
    }
    for name in found { try volume.unlinkAny(name, in: "lost+found") }
    try volume.close()
    let end = try vault.check().damages.map { $0.text }
    #expect(end == [])
  }

  /// What could only not be read may be there in a second: no name is given up for it.
  @Test func aReadThatFailsTakesNoNames() throws {
    let vault = try filled()
    let volume = try vault.open()
    let slot = try volume.slot(of: vault.leaf(of: "many", volume))
    try volume.close()
    let repaired = try vault.open()
    vault.disk.fail(meta: slot)
    var options = ScrubOptions()
    options.isQuick = true
    options.repairs = true
    let found = try repaired.scrub(options).damages.contains { $0.kind == .page }
    #expect(found)
    vault.disk.fault = nil
    let listed = try repaired.list("many")
    #expect(listed.isWhole && listed.names.count == 301)
    try repaired.close()
  }

  /// A record that is authentic and none: what it names is unknown, so nothing becomes free.
  @Test func anUnsoundRecordFreesNothing() throws {
    let vault = try filled()
    let look = try vault.open(readOnly: true)
    let number = try look.find("Exports/large").rawValue
    let maps = try Self.maps(look)
    try look.close()
    try spoil(vault) { (transaction) throws(EngineError) in
      try Inodes.change(number, in: transaction) { (record) in record.size = .max }
    }
    let found = try vault.check().damages
    #expect(found.contains { $0.inode == number })
    _ = try vault.repair()
    let volume = try vault.open(readOnly: true)
    #expect(try Self.maps(volume) == maps)
    try volume.close()
  }

  private static func maps(_ volume: Volume) throws -> [[UInt8]] {
    try [MetadataFile.dataMap, .pageMap, .inodeMap].map {
      try volume.engine.page(PageID($0, 0)).load(0..<4096)
    }
  }

  @Test func aCountOutOfRangeIsTold() throws {
    let vault = try filled()
    try spoil(vault) { (transaction) throws(EngineError) in
      try transaction.edit(PageID(.system, 0)).store(UInt64.max, at: SystemPage.usedSlots)
    }
    let found = try vault.check().damages.map { $0.kind }
    #expect(found == [.map])
    try expectClean(vault)
  }

  /// Slots that a checkpoint has taken since the check are not free because the check did not see
  /// them.
  @Test func theMapOfMetadataIsRewrittenForItsOwnRootAlone() throws {
    let vault = try filled()
    let volume = try vault.open()
    let scrub = Scrub(volume, ScrubOptions()) { _ in true }
    try scrub.checkPages()
    for index in 0..<50 {
      _ = try volume.makeNode(
        FileName("new \(index)"), in: .root, mode: 0o100644, device: 0, by: vault.caller)
    }
    try volume.engine.checkpoint()
    try scrub.rewrite(.metaMap)
    try volume.close()
    let after = try vault.check().damages.map { $0.text }
    #expect(after == [])
  }

  /// The whole of a directory: what is below it is found again as it was.
  @Test func aLostDirectoryIsEmptiedIntoLostAndFound() throws {
    let vault = try filled()
    let look = try vault.open(readOnly: true)
    let slot = try look.slot(of: PageID(.pages, look.record(at: "Exports").top))
    let number = try look.find("Exports/large").rawValue
    try look.close()
    vault.disk.flip(meta: slot)
    let damaged = try vault.open(readOnly: true)
    let listed = try damaged.list("Exports")
    #expect(listed.names.isEmpty && !listed.isWhole)
    try damaged.close()
    try expectClean(vault)
    let volume = try vault.open(readOnly: true)
    let content = try volume.text(volume.find("lost+found/#\(number)"), count: 2 << 20)
    #expect(content == ScrubbedVault.content(300 * 4096 + 17))
    // It had another name, and has it still.
    #expect(try volume.record(at: "same").links == 1)
    try volume.close()
  }

  @Test func wrongCountsAreMended() throws {
    let vault = try filled()
    let look = try vault.open(readOnly: true)
    let numbers = try ["Exports/a.csv", "Exports", "many/below", "many"].map {
      try look.find($0).rawValue
    }
    try look.close()
    try spoil(vault) { (transaction) throws(EngineError) in
      try Inodes.change(numbers[0], in: transaction) { (record) in record.links = 7 }
      try Inodes.change(numbers[1], in: transaction) { (record) in
        record.links = 9
        record.size = 1
      }
      try Inodes.change(numbers[2], in: transaction) { (record) in record.parent = 1 }
    }
    let found = try vault.check(quick: true).damages
    #expect(found.count == 4 && found.allSatisfy { $0.kind == .links })
    try expectClean(vault)
    let volume = try vault.open(readOnly: true)
    #expect(try volume.record(at: "Exports/a.csv").links == 2)
    #expect(try volume.record(at: "Exports").links == 2)
    #expect(try volume.record(at: "many/below").parent == numbers[3])
    try volume.close()
  }

  /// An inode without a name is found again, with what it holds; one that was deleted is not.
  @Test func whatLostItsNameIsFound() throws {
    let vault = try filled()
    let look = try vault.open(readOnly: true)
    let number = try look.find("Exports/large").rawValue
    let exports = try look.find("Exports").rawValue
    let directories = look.directories
    try look.close()
    try spoil(vault) { (transaction) throws(EngineError) in
      try Inodes.change(exports, in: transaction) { (record) throws(EngineError) in
        try directories.remove(Array("large".utf8), root: &record.top, in: transaction)
        record.size -= 1
      }
    }
    let found = try vault.check(quick: true).damages.map { "\($0.kind) \($0.inode ?? 0)" }
    #expect(found == ["nameless \(number)"])
    try expectClean(vault)
    let volume = try vault.open(readOnly: true)
    let content = try volume.text(volume.find("lost+found/#\(number)"), count: 2 << 20)
    #expect(content == ScrubbedVault.content(300 * 4096 + 17))
    try volume.close()
  }

  /// A name that stands for nothing is told and left.
  @Test func aNameWithoutAnInodeIsLeft() throws {
    let vault = try filled()
    let look = try vault.open(readOnly: true)
    let exports = try look.find("Exports").rawValue
    let directories = look.directories
    try look.close()
    try spoil(vault) { (transaction) throws(EngineError) in
      try Inodes.change(exports, in: transaction) { (record) throws(EngineError) in
        let entry = Directories.Entry(
          inode: 9999, type: FileMode.regular, name: Array("ghost".utf8))
        try directories.insert(entry, root: &record.top, in: transaction)
        record.size += 1
      }
    }
    let found = try vault.check(quick: true).damages.map { $0.text }
    #expect(found == ["entry  - Exports/ghost -"])
    let left = try vault.repair().map { $0.text }
    #expect(left == found)
    let volume = try vault.open(readOnly: true)
    #expect(try volume.list("Exports").names.contains("ghost"))
    try volume.close()
  }

  /// The record of an inode, in both copies: its neighbours and their names are told, and stay.
  @Test func aLostRecordIsToldByName() throws {
    let vault = try filled()
    let look = try vault.open(readOnly: true)
    let number = try look.find("many/file number 200").rawValue
    let slot = try look.slot(of: Inodes.page(of: number))
    try look.close()
    vault.disk.flip(meta: slot)
    let found = try vault.check(quick: true).damages
    let paths = Set(found.compactMap { $0.path }.map { String(decoding: $0, as: UTF8.self) })
    #expect(paths.contains("many/file number 200") && paths.count == 16)
    let left = try vault.repair().count
    #expect(left == found.count)
    let volume = try vault.open(readOnly: true)
    #expect(try volume.list("many").names.count == 301)
    try volume.close()
  }

  @Test func mapsAreRebuilt() throws {
    let vault = try filled()
    let look = try vault.open(readOnly: true)
    let slot = try look.slot(of: 5, in: "Exports/large")
    let page = try look.record(at: "Exports").top
    let number = try look.find("Exports").rawValue
    try look.close()
    try spoil(vault) { (transaction) throws(EngineError) in
      Self.flip(UInt64(slot), .dataMap, try transaction.edit(PageID(.dataMap, 0)))
      Self.flip(5000, .dataMap, try transaction.edit(PageID(.dataMap, 0)))
      Self.flip(UInt64(page), .pageMap, try transaction.edit(PageID(.pageMap, 0)))
      Self.flip(number, .inodeMap, try transaction.edit(PageID(.inodeMap, 0)))
      try transaction.edit(PageID(.system, 0)).store(UInt64(1), at: SystemPage.usedSlots)
    }
    let found = try vault.check(quick: true).damages
    #expect(found.count == 5 && found.allSatisfy { $0.kind == .map })
    try expectClean(vault)
  }

  /// A map of which no copy is left.
  @Test(arguments: [MetadataFile.dataMap, .pageMap, .inodeMap])
  func aLostMapIsRebuilt(file: MetadataFile) throws {
    let vault = try filled()
    let look = try vault.open(readOnly: true)
    let slot = try look.slot(of: PageID(file, 0))
    try look.close()
    vault.disk.flip(meta: slot)
    let found = try vault.check(quick: true).damages
    #expect(found.contains { $0.kind == .page })
    try expectClean(vault)
    let volume = try vault.open()
    let made = try volume.makeNode(
      FileName("new"), in: .root, mode: 0o100644, device: 0, by: vault.caller)
    try volume.put(made.inode, ScrubbedVault.content(9000))
    try volume.close()
    let after = try vault.check().damages.map { $0.text }
    #expect(after == [])
  }

  private static func flip(_ number: UInt64, _ file: MetadataFile, _ map: Draft) {
    let offset = Int(number % Layout.bitsPerPage / 64) * 8
    map.store(map.bytes.load(UInt64.self, at: offset) ^ 1 << (number % 64), at: offset)
  }

  /// Slots whose table is lost are not taken for free: nothing may be written over them.
  @Test func whatALostTableNamedStaysTaken() throws {
    let vault = try filled()
    let look = try vault.open(readOnly: true)
    let record = try look.record(at: "Exports/large")
    let table = try look.engine.read { (pages) throws(EngineError) in
      try pages.read(PageID(.pages, record.top)).load(UInt32.self, at: 4)
    }
    let slot = try look.slot(of: PageID(.pages, table))
    let map = try look.engine.page(PageID(.dataMap, 0)).load(0..<4096)
    try look.close()
    vault.disk.flip(meta: slot)
    let found = try vault.check().damages.map { $0.text }
    #expect(
      found == ["page meta-a/0000+meta-b/0000 \(slot) Exports/large 524288-1048575"])
    let left = try vault.repair().count
    #expect(left == 1)
    let volume = try vault.open(readOnly: true)
    let now = try volume.engine.page(PageID(.dataMap, 0)).load(0..<4096)
    #expect(now == map)
    // The rest of the file reads.
    let inode = try volume.find("Exports/large")
    let content = ScrubbedVault.content(300 * 4096 + 17)
    #expect(try volume.text(inode, count: 524_288) == Array(content[..<524_288]))
    #expect(try volume.text(inode, count: 1 << 21, at: 1_048_576) == Array(content[1_048_576...]))
    try volume.close()
  }
}

extension Volume {
  fileprivate func unlinkAny(_ name: String, in folder: String) throws {
    let parent = try find(folder)
    let name = try FileName(name)
    if try lookup(name, in: parent).mode & FileMode.typeMask == FileMode.directory {
      try removeDirectory(name, in: parent)
    } else {
      try unlink(name, in: parent)
    }
  }
}
