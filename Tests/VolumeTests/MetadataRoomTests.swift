import Bytes
import Crypto
import Disk
import Engine
import Format
import POSIX
import TestKit
import Testing

@testable import Volume

/// Changes that touch very many tables, where the metadata has little room (invariant I8).
@Suite struct MetadataRoomTests {
  /// One chunk in each of many tables, as a database does it.
  private func scatter(
    _ held: borrowing HeldVolume, _ file: InodeNumber, _ tables: Range<Int>, _ fill: UInt8
  ) throws(VolumeError) {
    let bytes = Buffer([UInt8](repeating: fill, count: Layout.chunkSize))
    for table in tables {
      let offset = UInt64(table * Layout.referencesPerTable * Layout.chunkSize)
      try held.volume.write(file, bytes.bytes, at: offset, clearsSetID: false)
    }
  }

  private func expectTables(
    _ volume: Volume, _ file: InodeNumber, _ tables: Range<Int>, _ fill: UInt8
  ) throws {
    let buffer = Buffer(count: 1)
    for table in tables {
      var span = buffer.mutableBytes(in: 0..<1)
      let offset = UInt64(table * Layout.referencesPerTable * Layout.chunkSize)
      #expect(try volume.read(file, into: &span, at: offset) == 1)
      #expect(buffer.load(UInt8.self, at: 0) == fill, "table \(table)")
    }
  }

  /// Random overwriting on a full disk goes on, and so do removal, the lock and the next mount.
  @Test func overwritingInManyTablesOnAFullDisk() throws {
    let held = try HeldVolume()
    let file = try held.make("database")
    let victim = try held.make("victim")
    try held.volume.put(victim, HeldVolume.bytes(3, 50_000))
    let tables = 0..<1500
    try scatter(held, file, tables, 1)
    try held.volume.syncAll()
    try held.volume.engine.checkpoint()
    held.disk.capacity = held.disk.used + (8 << 20)
    try scatter(held, file, tables, 2)
    try held.volume.syncAll()
    try expectTables(held.volume, file, tables, 2)
    try held.volume.unlink(FileName("victim"), in: .root)

    let killed = try held.open(held.disk.crashed(seed: 1, mode: .dropAll))
    let isReadOnly = killed.isReadOnly
    #expect(!isReadOnly)
    try expectTables(killed, file, tables, 2)
    try killed.close()
    try held.volume.close()
    let again = try held.open(held.disk)
    try expectTables(again, file, tables, 2)
    try again.empty(.root)
    try again.close()
  }

  /// Filling a sparse file is refused where its tables have no room, when it is written.
  @Test func fillingASparseFileOnAFullDisk() throws {
    let held = try HeldVolume()
    let file = try held.make("image")
    let victim = try held.make("victim")
    try held.volume.put(victim, HeldVolume.bytes(3, 50_000))
    try held.resize(file, to: 1 << 30)
    try held.volume.syncAll()
    held.disk.capacity = held.disk.used + (9 << 20)
    var written = 0
    var refused: VolumeError?
    while written < 2000, refused == nil {
      do throws(VolumeError) {
        try scatter(held, file, written..<(written + 1), 5)
        written += 1
      } catch { refused = error }
    }
    #expect(refused?.errno == .noSpace)
    // What was accepted is kept.
    try held.volume.syncAll()
    try expectTables(held.volume, file, 0..<written, 5)
    try held.volume.unlink(FileName("victim"), in: .root)
    try held.volume.close()
    let again = try held.open(held.disk)
    let isReadOnly = again.isReadOnly
    #expect(!isReadOnly)
    try expectTables(again, file, 0..<written, 5)
    try again.close()
  }

  /// Removal until the last moment before a checkpoint, then a power loss: the vault opens for
  /// writing, as it has the room.
  @Test func removalOnAFullDiskThenAPowerLoss() throws {
    let held = try HeldVolume()
    var names: [String] = []
    for index in 0..<700 {
      let name = "file\(index)"
      try held.volume.put(try held.make(name), HeldVolume.bytes(1, 20_000))
      names.append(name)
    }
    try held.volume.syncAll()
    try held.volume.engine.checkpoint()
    held.disk.capacity = held.disk.used
    for (index, name) in names.enumerated() {
      try held.volume.unlink(FileName(name), in: .root)
      guard index % 25 == 0 else { continue }
      try held.volume.engine.syncJournal()
      let killed = try held.open(held.disk.crashed(seed: UInt64(index), mode: .dropAll))
      let isReadOnly = killed.isReadOnly
      #expect(!isReadOnly, "after \(index)")
      try killed.close()
    }
    try held.volume.close()
  }
}
