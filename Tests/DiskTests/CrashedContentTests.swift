import Disk
import POSIX
import TestKit
import Testing

/// What a power loss may and may not make of an object's content.
@Suite struct CrashedContentTests {
  private let disk = SimulatedDisk()

  private func bytes(_ value: UInt8, _ count: Int) -> [UInt8] {
    [UInt8](repeating: value, count: count)
  }

  private func lasting(_ content: [UInt8]) throws -> any DiskFile {
    let file = try disk.create("object")
    try file.put(content, at: 0)
    try file.sync()
    try disk.syncFolder("")
    return file
  }

  private func outcomes(_ count: UInt64 = 300) throws -> [[UInt8]] {
    try (0..<count).map { seed in
      try #require(disk.crashed(seed: seed, mode: .random).content(of: "object"))
    }
  }

  @Test func aSizeMayBeThereWithoutItsData() throws {
    let file = try lasting([])
    try file.put(bytes(7, 1024), at: 0)
    let found = Set(try outcomes())
    #expect(found.contains([]))
    #expect(found.contains(bytes(0, 1024)))
    #expect(found.contains(bytes(7, 1024)))
    #expect(found.contains(bytes(7, 512) + bytes(0, 512)))
    #expect(found.contains(bytes(0, 512) + bytes(7, 512)))
    #expect(found.count == 5)
  }

  /// Two writes to one sector go through the same page of the kernel: the later one takes the
  /// earlier one with it.
  @Test func aSectorGoesForwardInTime() throws {
    let file = try lasting(bytes(0, 512))
    try file.put([1], at: 0)
    try file.put([2], at: 1)
    let found = Set(try outcomes().map { Array($0[0..<2]) })
    #expect(found == [[0, 0], [1, 0], [1, 2]])
  }

  @Test func writesOfDifferentSectorsAreReordered() throws {
    let file = try lasting(bytes(0, 1024))
    try file.put([1], at: 0)
    try file.put([2], at: 512)
    let found = Set(try outcomes().map { [$0[0], $0[512]] })
    #expect(found == [[0, 0], [1, 0], [0, 2], [1, 2]])
  }

  @Test func sizesGoForwardInTime() throws {
    let file = try lasting(bytes(1, 1000))
    try file.resize(0)
    try file.resize(2000)
    // Never 2000 bytes with the old ones in them: the cut came first.
    #expect(Set(try outcomes()) == [bytes(1, 1000), [], bytes(0, 2000)])
  }

  @Test func aHoleIsThereOrNot() throws {
    let file = try lasting(bytes(1, 8192))
    #expect(try file.punch(0..<4096))
    #expect(Set(try outcomes()) == [bytes(1, 8192), bytes(0, 4096) + bytes(1, 4096)])
  }

  @Test func whatASyncMadeLastIsNotTouched() throws {
    let file = try lasting(bytes(1, 4096))
    try file.put(bytes(2, 4096), at: 0)
    try file.sync()
    try file.put(bytes(3, 4096), at: 8192)
    for content in try outcomes() { #expect(Array(content[0..<4096]) == bytes(2, 4096)) }
  }

  @Test func aFailedSyncIsNotMadeGoodByALaterOne() throws {
    let file = try lasting(bytes(1, 4096))
    try file.put(bytes(2, 512), at: 0)
    disk.fault = { $0.kind == .sync ? .ioError : nil }
    #expect(failure { () throws(DiskError) in try file.sync() } == .ioError)
    disk.fault = nil
    try file.put(bytes(3, 512), at: 512)
    try file.sync()
    try file.put(bytes(4, 512), at: 1024)
    try file.sync()
    let expected = bytes(1, 512) + bytes(3, 512) + bytes(4, 512)
    for content in try outcomes(20) { #expect(Array(content[0..<1536]) == expected) }
    #expect(try file.get(512, at: 0) == bytes(2, 512), "readers still see it")
  }
}
