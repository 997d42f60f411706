import Bytes
import Disk
import Format
import POSIX
import TestKit
import Testing

@testable import Engine

/// What a sync of slots promises (invariants I3 and I9).
@Suite struct ContainersTests {
  private let disk = SimulatedDisk()
  private let held: HeldDisk
  private let containers: Containers

  init() throws {
    held = HeldDisk(disk)
    try held.createFolder("data")
    try held.syncFolder("")
    containers = Containers(disk: held, folders: ["data"])
  }

  private static func chunk(_ fill: UInt8) -> Buffer {
    Buffer([UInt8](repeating: fill, count: Layout.chunkSize))
  }

  /// Whether a power loss leaves a slot as it was written for certain.
  private static func isDurable(_ slot: Int, fill: UInt8, on disk: SimulatedDisk) -> Bool {
    let crashed = disk.crashed(seed: 1, mode: .dropAll)
    guard let content = crashed.content(of: "data/0000") else { return false }
    let start = slot * Layout.chunkSize
    guard content.count >= start + Layout.chunkSize else { return false }
    return content[start..<(start + Layout.chunkSize)].allSatisfy { $0 == fill }
  }

  @Test func nobodyReturnsBeforeTheSyncThatTookTheSlotOn() throws {
    try containers.write(Self.chunk(7).bytes, at: 1)
    let gate = held.hold(.sync, of: "data/", .before)
    let first = try Aside { [containers] in try containers.sync() }
    #expect(gate.waitUntilReached())
    let wasDurable = Lock<Bool?>(nil)
    let second = try Aside { [containers, disk] in
      try containers.sync()
      wasDurable.withLock { $0 = Self.isDurable(1, fill: 7, on: disk) }
    }
    #expect(!second.ends(within: 100_000_000))
    gate.open()
    try first.finish()
    try second.finish()
    #expect(wasDurable.withLock { $0 } == true)
  }

  @Test func aWriteUnderWayDuringASyncIsMadeDurableByTheNext() throws {
    try containers.write(Self.chunk(1).bytes, at: 0)
    try containers.sync()
    let gate = held.hold(.write, of: "data/", .before)
    let write = try Aside { [containers] in try containers.write(Self.chunk(7).bytes, at: 1) }
    #expect(gate.waitUntilReached())
    try containers.sync()
    gate.open()
    try write.finish()
    #expect(!Self.isDurable(1, fill: 7, on: disk))
    try containers.sync()
    #expect(Self.isDurable(1, fill: 7, on: disk))
  }

  @Test(arguments: [Errno.ioError, .noSpace, .overQuota])
  func aFailedSyncIsNotRepeatedAndCalledGood(errno: Errno) throws {
    try containers.write(Self.chunk(7).bytes, at: 1)
    disk.fault = { $0.kind == .sync ? errno : nil }
    #expect(throws: DiskError.self) { try containers.sync() }
    disk.fault = nil
    #expect(throws: DiskError.self) { try containers.sync() }
    #expect(!Self.isDurable(1, fill: 7, on: disk))
  }

  @Test func aNewContainersNameIsMadeDurable() throws {
    try containers.write(Self.chunk(7).bytes, at: 1)
    try containers.sync()
    #expect(disk.crashed(seed: 1, mode: .dropAll).names == ["data/0000"])
  }

  /// Who made the file was killed before it could sync the folder.
  @Test func theNameOfAnotherSessionsContainerIsMadeDurable() throws {
    try containers.write(Self.chunk(1).bytes, at: 0)
    let next = Containers(disk: disk, folders: ["data"])
    try next.write(Self.chunk(7).bytes, at: 1)
    try next.sync()
    #expect(Self.isDurable(1, fill: 7, on: disk))
  }

  @Test func nothingIsClosedWhileItIsUnsynced() throws {
    for index in 0..<300 as Range<UInt32> {
      try containers.write(Self.chunk(7).bytes, at: index * Layout.slotsPerContainer)
    }
    #expect(disk.closedUnsynced == [])
    try containers.sync()
    for index in 300..<310 as Range<UInt32> {
      try containers.write(Self.chunk(7).bytes, at: index * Layout.slotsPerContainer)
    }
    #expect(disk.closedUnsynced == [])
  }
}
