import Crypto
import Disk
import Engine
import Format
import POSIX
import TestKit
import Testing

@testable import Volume

/// The largest file, with next to nothing in it: what looks for its data looks only there.
@Suite struct SparseTests {
  private static let end = Layout.maximumFileSize
  private static let places: [UInt64] = [0, 5 << 12, 1 << 30, 3 << 40, end - 4096]

  private func sparse(_ held: borrowing HeldVolume) throws -> InodeNumber {
    let file = try held.make("sparse")
    for place in Self.places {
      try held.volume.put(file, HeldVolume.bytes(1, 4096), at: place)
    }
    return file
  }

  @Test(.timeLimit(.minutes(1)), arguments: [false, true])
  func dataIsFoundInTheLargestFile(isFramed: Bool) throws {
    let held = try HeldVolume()
    let file = try sparse(held)
    if isFramed { try held.volume.syncAll() }
    for (place, next) in zip(Self.places, Self.places.dropFirst()) {
      #expect(try held.volume.seekData(file, from: place) == place)
      #expect(try held.volume.seekData(file, from: place + 4095) == place + 4095)
      #expect(try held.volume.seekData(file, from: place + 4096) == next)
      #expect(try held.volume.seekHole(file, from: place) == place + 4096)
    }
    #expect(try held.volume.seekHole(file, from: Self.end - 1) == Self.end)
    #expect(throws: VolumeError.system(.noAddress)) {
      try held.volume.seekData(file, from: Self.end)
    }
    try held.volume.close()
  }

  @Test(.timeLimit(.minutes(1)), arguments: [false, true])
  func theLargestFileIsPunched(isFramed: Bool) throws {
    let held = try HeldVolume()
    let file = try sparse(held)
    if isFramed { try held.volume.syncAll() }
    try held.volume.allocate(file, 4096..<(Self.end - 4096), .punch, clearsSetID: false)
    #expect(try held.volume.seekData(file, from: 4096) == Self.end - 4096)
    try held.volume.allocate(file, 0..<Self.end, .punch, clearsSetID: false)
    #expect(throws: VolumeError.system(.noAddress)) { try held.volume.seekData(file, from: 0) }
    #expect(try held.volume.attributes(of: file).size == Self.end)
    try held.volume.syncAll()
    #expect(try held.volume.attributes(of: file).blocks == 0)
    #expect(try held.volume.text(file, count: 4096, at: 3 << 40) == HeldVolume.bytes(0, 4096))
    try held.volume.close()
  }

  @Test func firstStoredFindsEveryChunkOnceAndInOrder() throws {
    let held = try HeldVolume()
    let file = try sparse(held)
    try held.volume.syncAll()
    let record = try held.volume.record(of: file.rawValue)
    let found = try held.volume.engine.read { (pages) throws(EngineError) in
      var found: [UInt64] = []
      var next: UInt64 = 0
      while let chunk = try ChunkTree.firstStored(of: record, from: next, in: pages) {
        found.append(chunk)
        next = chunk + 1
      }
      return found
    }
    #expect(found == Self.places.map { $0 / 4096 })
    try held.volume.close()
  }
}
