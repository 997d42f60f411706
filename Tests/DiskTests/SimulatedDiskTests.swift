import Disk
import POSIX
import TestKit
import Testing

/// Faults, limits and tampering of the simulated disk.
@Suite struct SimulatedDiskTests {
  private let disk = SimulatedDisk()

  @Test func theDiskStopsAfterItsSteps() throws {
    let file = try disk.create("object")
    try disk.syncFolder("")
    #expect(disk.steps == 2)
    disk.stopAfter = 3
    try file.put([1], at: 0)
    let error = #expect(throws: DiskError.self) { try file.put([2], at: 0) }
    #expect(error?.errno == .ioError)
    #expect(error?.operation == "power loss")
    #expect(failure { () throws(DiskError) in try file.sync() } == .ioError)
    #expect(failure { () throws(DiskError) in _ = try file.get(1, at: 0) } == .ioError)
    #expect(disk.openFailure("object") == .ioError)
    #expect(disk.steps == 3)
    #expect(disk.crashed(seed: 1, mode: .keepAll).content(of: "object") == [1])
    #expect(disk.crashed(seed: 1, mode: .dropAll).content(of: "object") == [])
    // A crashed disk works again.
    let after = disk.crashed(seed: 1, mode: .random)
    try after.create("other").put([3], at: 0)
    #expect(after.steps == 2)
  }

  @Test func aHookFailsChosenCalls() throws {
    let file = try disk.create("object")
    disk.fault = { $0.kind == .write && $0.object == "object" ? .noSpace : nil }
    let bytes = [UInt8](repeating: 5, count: 4096)
    #expect(failure { () throws(DiskError) in try file.put(bytes, at: 0) } == .noSpace)
    #expect(try file.size() == 2048, "a failed write may get half-way")
    _ = try disk.create("other")
    disk.fault = { $0.step == 3 ? .accessDenied : nil }
    #expect(disk.createFailure("more") == .accessDenied)
    #expect(disk.createFailure("more") == nil)
  }

  @Test func aFailedSyncLosesTheData() throws {
    let file = try disk.create("object")
    try disk.syncFolder("")
    try file.put([1], at: 0)
    disk.fault = { $0.kind == .sync ? .ioError : nil }
    #expect(failure { () throws(DiskError) in try file.sync() } == .ioError)
    disk.fault = nil
    #expect(try file.get(1, at: 0) == [1], "the page cache still has it")
    try file.sync()
    #expect(disk.crashed(seed: 1, mode: .dropAll).content(of: "object") == [])
    try file.put([2], at: 1)
    try file.sync()
    #expect(disk.crashed(seed: 1, mode: .dropAll).content(of: "object") == [0, 2])
  }

  @Test func aFullDiskTakesNoMore() throws {
    disk.capacity = 3 * 4096
    let file = try disk.create("object")
    try file.put([UInt8](repeating: 1, count: 8192), at: 0)
    #expect(try disk.space().free == 4096)
    #expect(failure { () throws(DiskError) in try file.allocate(8192..<16384) } == .noSpace)
    #expect(
      failure { () throws(DiskError) in
        try file.put([UInt8](repeating: 1, count: 8192), at: 8192)
      } == .noSpace)
    try file.put([UInt8](repeating: 2, count: 8192), at: 0)
    try file.allocate(8192..<12288)
    #expect(failure { () throws(DiskError) in try file.put([1], at: 12288) } == .noSpace)
    #expect(try file.punch(0..<4096))
    try file.put([1], at: 12288)
    #expect(try disk.space().free == 0)
    try disk.remove("object")
    #expect(try disk.space().free == 0, "the object is still open")
  }

  @Test func callsAreCounted() throws {
    let file = try disk.create("object")
    for index in 0..<3 as Range<UInt64> { try file.put([1], at: index) }
    try file.sync()
    #expect(disk.count(of: .write) == 3)
    #expect(disk.count(of: .sync) == 1)
    #expect(disk.count(of: .rename) == 0)
  }

  @Test func tamperingReachesTheDurableState() throws {
    let file = try disk.create("object")
    try file.put([0, 0], at: 0)
    try file.sync()
    try disk.syncFolder("")
    #expect(disk.flipBit(of: "object", at: 11))
    #expect(!disk.flipBit(of: "object", at: 16))
    #expect(!disk.flipBit(of: "other", at: 0))
    #expect(try file.get(2, at: 0) == [0, 8])
    #expect(disk.crashed(seed: 1, mode: .dropAll).content(of: "object") == [0, 8])
    disk.overwrite("object", at: 0, with: [7])
    #expect(disk.content(of: "object") == [7, 8])
    disk.replace("object", with: [9])
    #expect(disk.crashed(seed: 1, mode: .dropAll).content(of: "object") == [9])
    disk.removeObject("object")
    #expect(disk.crashed(seed: 1, mode: .keepAll).names == [])
  }

  @Test func aSnapshotIsIndependent() throws {
    let file = try disk.create("object")
    try file.put([1], at: 0)
    let snapshot = disk.snapshot()
    try file.put([2], at: 0)
    try snapshot.open("object", writable: true).put([3], at: 1)
    #expect(disk.content(of: "object") == [2])
    #expect(snapshot.content(of: "object") == [1, 3])
    #expect(snapshot.crashed(seed: 1, mode: .dropAll).names == [])
  }

  @Test func aHoleIsNotStored() throws {
    let file = try disk.create("object")
    try file.put([1], at: 1 << 40)
    #expect(try file.size() == (1 << 40) + 1)
    #expect(disk.used == 4096)
    try file.resize(0)
    #expect(disk.used == 0)
  }
}
