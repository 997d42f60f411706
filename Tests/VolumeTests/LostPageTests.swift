import Crypto
import Engine
import Format
import POSIX
import TestKit
import Testing

@testable import Volume

/// Metadata of which no copy is left: what is still there can be used, and the vault goes on.
@Suite struct LostPageTests {
  /// As `ScrubbedVault`, with so many pages that the root does not name them all.
  private static func filled() throws -> ScrubbedVault {
    let vault = try ScrubbedVault()
    try vault.fill()
    let volume = try vault.open()
    let links = try volume.makeDirectory(
      FileName("links"), in: .root, mode: 0o755, by: vault.caller
    ).inode
    // Names first, so that their pages come before those of the targets.
    for length in [20, 200] {
      for index in 0..<200 {
        let name = try FileName("link \(index)")
        if length == 200 { try volume.unlink(name, in: links) }
        _ = try volume.makeSymlink(
          name, in: links, target: [UInt8](repeating: 0x79, count: length), by: vault.caller)
      }
    }
    try volume.close()
    return vault
  }

  /// Makes files and removes one. Returns whether that could be done.
  private func use(_ volume: Volume, _ vault: borrowing ScrubbedVault) throws -> Bool {
    do {
      for index in 0..<2 {
        let name = try FileName("new \(index)")
        let made = try volume.makeNode(
          name, in: .root, mode: 0o100644, device: 0, by: vault.caller)
        try volume.put(made.inode, ScrubbedVault.content(20000))
        try volume.sync(made.inode, dataOnly: false)
        try volume.unlink(name, in: .root)
      }
      return true
    } catch VolumeError.damaged { return false }
  }

  /// Each table and each kind of page in turn: the vault is repaired, used, locked and mounted
  /// again.
  @Test func whateverIsLostTheVaultGoesOn() throws {
    let vault = try Self.filled()
    var seen: Set<PageID> = []
    var unused: [PageID] = []
    for (index, page) in try vault.storedPages().enumerated() {
      let isOneOfMany = page.id.level == 0 && (page.id.file == .pages || page.id.file == .inodes)
      guard !isOneOfMany || index % 16 == 0 else { continue }
      // Opening for writing goes on from these.
      guard page.id.file != .lineage, page.id.file != .metaMap else { continue }
      seen.insert(page.id)
      let disk = vault.disk.snapshot()
      disk.flip(meta: page.slot)
      _ = try vault.repair(disk)
      for round in 0..<2 {
        let volume = try vault.open(disk)
        let isWritable = !volume.isReadOnly
        #expect(isWritable, "\(page.id) round \(round)")
        if try !use(volume, vault) { unused.append(page.id) }
        _ = volume.reapOrphans()
        try volume.engine.checkpoint()
        try volume.close()
      }
    }
    // What makes every file; the rest of the vault can be read.
    let vital = [PageID(.inodes, 0), PageID(.inodes, 0, level: 1), PageID(.system, 0)]
    #expect(Set(unused).isSubset(of: vital), "\(unused)")
    #expect(seen.isSuperset(of: [PageID(.pages, 0, level: 1), PageID(.pages, 1, level: 1)]))
  }

  /// What is below a lost table can be deleted; its number is not given out again.
  @Test func whatIsBelowALostTableCanBeDeleted() throws {
    let vault = try Self.filled()
    let look = try vault.open(readOnly: true)
    let slot = try look.slot(of: PageID(.pages, 1, level: 1))
    try look.close()
    vault.disk.flip(meta: slot)
    let volume = try vault.open()
    let links = try volume.find("links")
    let lost = try (0..<200).filter { index in
      let inode = try volume.find("links/link \(index)")
      return (try? volume.symlinkTarget(of: inode)) == nil
    }
    #expect(lost.count > 20)
    for index in lost { try volume.unlink(FileName("link \(index)"), in: links) }
    #expect(volume.reapOrphans() == nil)
    #expect(try volume.list("links").names.count == 200 - lost.count)
    for index in 0..<150 {
      let made = try volume.makeSymlink(
        FileName("more \(index)"), in: links, target: [UInt8](repeating: 0x7a, count: 300),
        by: vault.caller)
      #expect(try volume.symlinkTarget(of: made.inode).count == 300)
    }
    try volume.close()
    let again = try vault.open()
    for index in 0..<150 {
      #expect(try again.symlinkTarget(of: again.find("links/more \(index)")).count == 300)
    }
    try again.close()
  }

  /// A deleted file that cannot be released is no reason to say that changes were lost.
  @Test func aDeletedFileThatCannotBeReleasedIsNoLoss() throws {
    let vault = try ScrubbedVault()
    try vault.fill()
    let look = try vault.open(readOnly: true)
    let slot = try look.slot(of: PageID(.pages, look.record(at: "Exports/large").top))
    try look.close()
    vault.disk.flip(meta: slot)
    let volume = try vault.open()
    try volume.unlink(FileName("large"), in: volume.find("Exports"))
    try volume.close()
    let again = try vault.open()
    let failure = again.reapOrphans()
    #expect(failure != nil)
    try again.close()
  }

  /// The lowest free number lies in a page that is lost: the next ones will do.
  @Test func aLostPageOfInodesStopsNoNewFile() throws {
    let vault = try ScrubbedVault()
    try vault.fill()
    let look = try vault.open(readOnly: true)
    let last = try look.find("many/below").rawValue
    let slot = try look.slot(of: Inodes.page(of: last))
    try look.close()
    vault.disk.flip(meta: slot)
    let volume = try vault.open()
    for index in 0..<20 {
      let made = try volume.makeNode(
        FileName("new \(index)"), in: .root, mode: 0o100644, device: 0, by: vault.caller)
      try volume.put(made.inode, [1])
    }
    try volume.close()
    let again = try vault.open()
    #expect(try again.text(again.find("new 19")) == [1])
    try again.close()
  }

  /// An error that has passed is not told for ever.
  @Test func aPassingErrorIsForgottenByALaterListing() throws {
    let vault = try ScrubbedVault()
    try vault.fill()
    let look = try vault.open(readOnly: true)
    let number = try look.find("many").rawValue
    let slot = try look.slot(of: vault.leaf(of: "many", look))
    try look.close()
    let volume = try vault.open()
    vault.disk.fail(meta: slot)
    let damaged = try volume.list("many")
    #expect(!damaged.isWhole && damaged.names.count < 301)
    vault.disk.fault = nil
    // The listing that has met it may still be under way.
    #expect(try !volume.list("many").isWhole)
    volume.damagedDirectories.withLock { $0[number]?.time -= DamagedNames.longestListing + 1 }
    let whole = try volume.list("many")
    #expect(whole.isWhole && whole.names.count == 301)
    try volume.close()
  }
}

extension SimulatedDisk {
  /// From now on a slot of metadata cannot be read, in neither copy.
  func fail(meta slot: UInt32) {
    let bad = (UInt64(slot) * 4096)..<(UInt64(slot) * 4096 + 4096)
    fault = { call in
      guard call.kind == .read, call.object.hasPrefix("meta-"), let range = call.range else {
        return nil
      }
      return range.overlaps(bad) ? .ioError : nil
    }
  }
}

extension ScrubbedVault {
  /// The second leaf of a large directory.
  func leaf(of path: String, _ volume: Volume) throws -> PageID {
    let top = try volume.record(at: path).top
    return try volume.engine.read { (pages) throws(EngineError) in
      PageID(.pages, try PageTree.node(top, in: pages).child(1))
    }
  }

  /// Everything the trees name, with its slot.
  func storedPages() throws -> [(id: PageID, slot: UInt32)] {
    let volume = try open(readOnly: true)
    var found: [(id: PageID, slot: UInt32)] = []
    var place: UInt64? = 0
    let scratch = CheckScratch()
    while let current = place {
      place = volume.engine.checkPages(from: current, limit: 64, scratch: scratch) { check in
        found.append((id: check.id, slot: check.slot))
      }
    }
    try volume.close()
    return found
  }
}
