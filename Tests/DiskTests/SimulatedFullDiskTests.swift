import Disk
import POSIX
import TestKit
import Testing

/// A full disk, and what a test may ask of the simulated one afterwards.
@Suite struct SimulatedFullDiskTests {
  private let disk = SimulatedDisk()

  private func bytes(_ value: UInt8, _ count: Int) -> [UInt8] {
    [UInt8](repeating: value, count: count)
  }

  @Test func whatFitsIsWritten() throws {
    disk.capacity = 2 * 4096
    let file = try disk.create("object")
    let whole = bytes(1, 3 * 4096)
    #expect(failure { () throws(DiskError) in try file.put(whole, at: 100) } == .noSpace)
    #expect(try file.get(20000, at: 0) == bytes(0, 100) + bytes(1, 8092))
    #expect(try disk.space().free == 0)
    // There is room to overwrite, always.
    try file.put(bytes(2, 8192), at: 0)
    #expect(disk.content(of: "object") == bytes(2, 8192))
  }

  @Test func aReservationThatFailsKeepsItsSpace() throws {
    disk.capacity = 4 * 4096
    let file = try disk.create("object")
    #expect(failure { () throws(DiskError) in try file.allocate(0..<20000) } == .noSpace)
    #expect(try file.size() == 0)
    #expect(try disk.space().free == 0)
    // The space is the object's: it can write there, and give it back.
    try file.put(bytes(1, 4096), at: 4096)
    #expect(try file.get(8192, at: 0) == bytes(0, 4096) + bytes(1, 4096))
    try file.resize(0)
    #expect(try file.punch(0..<20000))
    #expect(try disk.space().free == 4 * 4096)
  }

  @Test func calls() throws {
    disk.keepsCalls = true
    let file = try disk.create("object")
    try file.put([1, 2], at: 7)
    try file.put([3], at: 9)
    _ = try file.get(2, at: 8)
    #expect(disk.calls.map(\.kind) == [.create, .write, .write, .read])
    #expect(disk.calls.map(\.range) == [nil, 7..<9, 9..<10, 8..<10])
    #expect(disk.calls.map(\.count) == [1, 1, 2, 1])
    #expect(disk.calls.map(\.step) == [0, 1, 2, 3])
    disk.keepsCalls = false
    #expect(disk.calls == [])
  }

  @Test func closingWithoutASyncIsNoted() throws {
    try disk.create("good").sync()
    try disk.create("bad").put([1], at: 0)
    try disk.create("gone").put([1], at: 0)
    #expect(disk.closedUnsynced == ["bad", "gone"])
    let other = SimulatedDisk()
    do {
      let file = try other.create("removed")
      try file.put([1], at: 0)
      try other.remove("removed")
    }
    do {
      let one = try other.create("shared")
      let two = try other.open("shared", writable: true)
      try one.put([1], at: 0)
      try two.sync()
    }
    #expect(other.closedUnsynced == [])
  }

  @Test func tamperingByPieces() throws {
    try disk.create("one").put(bytes(1, 10), at: 0)
    try disk.create("two").put(bytes(2, 20), at: 0)
    disk.swap("one", "two")
    #expect(disk.content(of: "one") == bytes(2, 20))
    #expect(disk.content(of: "two") == bytes(1, 10))
    disk.cut("one", to: 5)
    disk.hollow("two", 2..<8)
    #expect(disk.content(of: "one") == bytes(2, 5))
    #expect(disk.content(of: "two") == bytes(1, 2) + bytes(0, 6) + bytes(1, 2))
  }
}
