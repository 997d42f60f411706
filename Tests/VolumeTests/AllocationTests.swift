import Crypto
import Disk
import Engine
import Format
import POSIX
import TestKit
import Testing

@testable import Volume

/// fallocate(2), and what lies below it.
@Suite struct AllocationTests {
  private func allocate(
    _ held: borrowing HeldVolume, _ file: InodeNumber, _ range: Range<UInt64>,
    _ mode: AllocationMode
  ) throws(VolumeError) {
    try held.volume.allocate(file, range, mode, clearsSetID: false)
  }

  @Test func whatIsStoredNeedsNoRoom() throws {
    let held = try HeldVolume()
    let file = try held.make("file")
    try held.volume.put(file, HeldVolume.bytes(1, 1 << 20))
    try held.volume.syncAll()
    held.disk.capacity = held.disk.used + (64 << 10)
    try allocate(held, file, 0..<(1 << 20), .allocate)
    #expect(throws: VolumeError.system(.noSpace)) {
      try allocate(held, file, 0..<(2 << 20), .allocate)
    }
  }

  @Test func punchingAPartOfAHoleStoresNothing() throws {
    let held = try HeldVolume()
    let file = try held.make("file")
    try held.resize(file, to: 1 << 20)
    try allocate(held, file, 100..<200, .punch)
    try allocate(held, file, 5000..<50_000, .zeroKeepingSize)
    #expect(try held.volume.attributes(of: file).blocks == 0)
    #expect(try held.volume.text(file) == [UInt8](repeating: 0, count: 1 << 20))
  }

  @Test func holesAreFoundPastManyStoredChunks() throws {
    let held = try HeldVolume()
    let file = try held.make("file")
    let size = 5000 * Layout.chunkSize
    try held.volume.put(file, HeldVolume.bytes(1, size))
    #expect(try held.volume.seekHole(file, from: 10) == UInt64(size))
    try allocate(held, file, UInt64(4500 * 4096)..<UInt64(4501 * 4096), .punch)
    #expect(try held.volume.seekHole(file, from: 10) == UInt64(4500 * 4096))
    let inside = UInt64(4500 * 4096 + 7)
    #expect(try held.volume.seekHole(file, from: inside) == inside)
    #expect(try held.volume.seekData(file, from: inside) == UInt64(4501 * 4096))
  }

  /// What the lower filesystem lost between write and fsync is not called durable.
  @Test func anFsyncOfLostContentsFails() throws {
    let held = try HeldVolume()
    let file = try held.make("file")
    try held.volume.put(file, HeldVolume.bytes(1, 4096))
    let size = try #require(held.disk.content(of: "data/0000")).count
    for slot in 1..<(size / 4096) { held.disk.flipBit(of: "data/0000", at: 8 * (4096 * slot + 7)) }
    #expect(throws: VolumeError.self) { try held.volume.sync(file, dataOnly: false) }
  }
}
