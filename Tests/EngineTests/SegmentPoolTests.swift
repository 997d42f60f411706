import Crypto
import Disk
import Format
import POSIX
import TestKit
import Testing

@testable import Engine

/// The journal's reserve (invariant I8), and names in its folder that nobody vouches for.
@Suite struct SegmentPoolTests {
  private func pool(_ disk: SimulatedDisk) throws -> SegmentPool {
    try disk.createFolder("journal")
    return SegmentPool(disk: disk, segmentBytes: 64 << 10, nextNumber: 5)
  }

  @Test func sparesAreAllocatedAndDurable() throws {
    let disk = SimulatedDisk()
    let pool = try pool(disk)
    try disk.syncFolder("")
    try pool.fill()
    let crashed = disk.crashed(seed: 1, mode: .dropAll)
    #expect(crashed.journal == [SegmentCodec.fileName(5), SegmentCodec.fileName(6)])
    #expect(crashed.used == 2 * 64 << 10)
    #expect(pool.take()?.number == 5)
    #expect(pool.take()?.number == 6)
    #expect(pool.take() == nil)
  }

  @Test func aSpareWithoutRoomLeavesNothingBehind() throws {
    let disk = SimulatedDisk()
    let pool = try pool(disk)
    disk.capacity = 100 << 10
    #expect(throws: DiskError.self) { try pool.fill() }
    #expect(pool.count == 1)
    #expect(disk.journal == [SegmentCodec.fileName(5)])
  }

  /// What was promised is kept, whoever makes spares meanwhile and whatever fails.
  @Test func theSuccessorIsTheOneThatWasTold() throws {
    let disk = SimulatedDisk()
    let pool = try pool(disk)
    disk.fault = { call in
      switch call.kind {
      case .allocate, .sync, .syncFolder: call.step % 7 == 0 ? .noSpace : nil
      default: nil
      }
    }
    var taken: [UInt64] = []
    for round in 0..<20 {
      let told = pool.successor
      let makers = try (0..<3).map { _ in try Aside { try? pool.add() } }
      if round % 4 == 3 { try? pool.recycle(taken.suffix(1)) }
      for maker in makers { try maker.finish() }
      while pool.count == 0 { try? pool.add() }
      let first = try #require(pool.take()).number
      #expect(first == told)
      taken.append(first)
      let rest = pool.count
      for _ in 0..<rest {
        let next = pool.successor
        let number = try #require(pool.take()).number
        #expect(number == next)
        taken.append(number)
      }
    }
    #expect(taken == taken.sorted() && Set(taken).count == taken.count)
  }

  @Test func usedSegmentsComeBackUnderNewNumbers() throws {
    let disk = SimulatedDisk()
    let pool = try pool(disk)
    try pool.add()
    let first = try #require(pool.take())
    try pool.recycle([first.number])
    let again = try #require(pool.take())
    #expect(again.number > first.number)
    #expect(disk.journal == [SegmentCodec.fileName(again.number)])
  }

  @Test func segmentsBeyondTheTargetAreRemoved() throws {
    let disk = SimulatedDisk()
    let pool = try pool(disk)
    try pool.fill()
    try pool.add()
    let third = try #require(pool.take())
    try pool.recycle([third.number])
    #expect(pool.count == 2)
    #expect(disk.journal.count == 2)
  }

  @Test func leftoversAreAdoptedAndNamedSegmentsKept() throws {
    let disk = SimulatedDisk()
    try pool(disk).fill()
    let pool = SegmentPool(disk: disk, segmentBytes: 64 << 10, nextNumber: 6)
    try pool.adopt(except: [5])
    #expect(pool.count == 1)
    let adopted = try #require(pool.take())
    #expect(adopted.number > 6)
    #expect(disk.journal == [SegmentCodec.fileName(5), SegmentCodec.fileName(adopted.number)])
  }

  @Test func aLeftoverOfAnotherSizeIsRemoved() throws {
    let disk = SimulatedDisk()
    let pool = try pool(disk)
    disk.replace(SegmentCodec.fileName(9), with: [1, 2, 3])
    try pool.adopt(except: [])
    #expect(pool.count == 0)
    #expect(disk.journal == [])
  }

  @Test func strayNamesAreLeftAloneAndMoveNoNumber() throws {
    let strays = [
      "journal/ffffffffffffffff", "journal/fffffffffffffffe", "journal/4000000000000000",
      "journal/notes", "journal/5", "journal/00000000000000AB", "journal/+00000000000000a",
    ]
    let vault = try TestVault()
    for name in strays { vault.disk.replace(name, with: [1]) }
    // A number far away could not have been given out: it must not use up all others.
    vault.disk.replace("journal/3fffffffffffffff", with: [1])
    for _ in 0..<2 {
      let engine = try vault.open()
      try engine.makePages(1)
      try engine.close()
    }
    #expect(strays.allSatisfy { vault.disk.content(of: $0) == [1] })
    let numbers = vault.disk.journal.compactMap { SegmentCodec.number(ofFile: $0) }
    #expect(numbers.count == 3)
    #expect(numbers.allSatisfy { $0 < 100 })
  }

  @Test(arguments: ["journal/ffffffffffffffff", "journal/3fffffffffffffff"])
  func aFolderWithASegmentsNameStopsNothing(name: String) throws {
    let vault = try TestVault()
    try vault.disk.createFolder(name)
    for _ in 0..<2 {
      let engine = try vault.open()
      try engine.makePages(1)
      try engine.close()
    }
    #expect(vault.disk.folders.contains(name))
  }
}
