import Bytes
import Crypto
import Disk
import Engine
import Format
import POSIX
import TestKit
import Testing

@testable import Volume

/// Releasing files without a name (invariant I10).
@Suite struct OrphanTests {
  /// One that is damaged stays; those behind it in the list are released.
  @Test func aDamagedOrphanHoldsNoOtherUp() throws {
    let held = try HeldVolume()
    let volume = held.volume
    let names = ["a", "b", "c"]
    var inodes: [InodeNumber] = []
    for name in names {
      let inode = try held.make(name)
      try volume.put(inode, HeldVolume.bytes(1, 4096))
      inodes.append(inode)
    }
    try volume.syncAll()
    try volume.engine.spoilMap(of: inodes[0], in: volume)
    for name in names { try volume.unlink(FileName(name), in: .root) }
    let failure = volume.reapOrphans()
    #expect(failure != nil)
    #expect(throws: VolumeError.self) { try volume.attributes(of: inodes[1]) }
    #expect(throws: VolumeError.self) { try volume.attributes(of: inodes[2]) }
    #expect(try volume.attributes(of: inodes[0]).links == 0)
  }

  /// What a full or failing disk kept from being released is released later.
  @Test func whatFailedOnceIsReapedLater() throws {
    let held = try HeldVolume()
    let volume = held.volume
    var inodes: [InodeNumber] = []
    for index in 0..<100 {
      let inode = try held.make("f\(index)")
      try volume.put(inode, HeldVolume.bytes(1, 4096))
      inodes.append(inode)
    }
    try volume.syncAll()
    for index in 0..<100 { try volume.unlink(FileName("f\(index)"), in: .root) }
    // The map of free space cannot be read while it is so.
    let slots = try volume.engine.spoilMap(of: inodes[0], in: volume)
    let failure = volume.reapOrphans()
    #expect(failure != nil)
    try volume.engine.mendMap(slots)
    let left = volume.reapOrphans()
    #expect(left == nil)
    let used = try volume.engine.read { (pages) throws(EngineError) in
      try pages.read(PageID(.system, 0)).load(UInt64.self, at: SystemPage.usedSlots)
    }
    #expect(used == 0)
    try volume.close()
  }

  /// A list of exactly one batch, whose entries are of no use, comes to an end.
  @Test(.timeLimit(.minutes(1))) func entriesOfNoUseAreRemoved() throws {
    let held = try HeldVolume()
    let volume = held.volume
    let file = try held.make("file")
    try volume.engine.transact { (transaction) throws(EngineError) in
      try Orphans.add(file.rawValue, in: transaction)
      for number in 1000..<1063 as Range<UInt64> { try Orphans.add(number, in: transaction) }
    }
    let failure = volume.reapOrphans()
    #expect(failure == nil)
    let left = try volume.engine.read { (pages) throws(EngineError) in
      try Orphans.first(64, after: 0, in: pages)
    }
    #expect(left == [])
    #expect(try volume.attributes(of: file).links == 1)
    try volume.close()
  }
}

extension Engine {
  /// Marks the first slot of a file as free in the map, as damage would.
  @discardableResult
  func spoilMap(of inode: InodeNumber, in volume: Volume) throws -> UInt32 {
    let record = try volume.record(of: inode.rawValue)
    let slot = try ChunkTree.direct(record, 0).slot
    try setMap(slot, to: false)
    return slot
  }

  func mendMap(_ slot: UInt32) throws { try setMap(slot, to: true) }

  private func setMap(_ slot: UInt32, to value: Bool) throws {
    try transact(frees: true) { (transaction) throws(EngineError) in
      let perPage = UInt32(Layout.bitsPerPage)
      let draft = try transaction.edit(PageID(.dataMap, slot / perPage))
      let offset = Int(slot % perPage / 64) * 8
      let mask: UInt64 = 1 << UInt64(slot % 64)
      let word = draft.bytes.load(UInt64.self, at: offset)
      draft.store(value ? word | mask : word & ~mask, at: offset)
    }
  }
}
