import Disk
import POSIX
import TestKit
import Testing

@testable import Engine

@Suite struct SpaceReserveTests {
  private let disk = SimulatedDisk()

  @Test func isGivenUpOnceAndTakenAgain() {
    let reserve = SpaceReserve(disk: disk)
    #expect(!reserve.isWhole)
    #expect(!reserve.release())
    #expect(reserve.restore())
    #expect(reserve.isWhole)
    #expect(disk.used == Int(SpaceReserve.bytes))
    #expect(reserve.release())
    #expect(disk.used == 0)
    #expect(!reserve.isWhole)
    #expect(!reserve.release())
    #expect(reserve.restore())
    #expect(disk.used == Int(SpaceReserve.bytes))
  }

  /// What it got before the disk was full would be missing elsewhere.
  @Test func takesAllOrNothing() {
    let reserve = SpaceReserve(disk: disk)
    disk.capacity = Int(SpaceReserve.bytes) - 4096
    #expect(!reserve.restore())
    #expect(!reserve.isWhole)
    #expect(disk.used == 0)
    disk.capacity = Int(SpaceReserve.bytes)
    #expect(reserve.restore())
    #expect(reserve.isWhole)
  }

  @Test func isTakenOverFromTheSessionBefore() {
    #expect(SpaceReserve(disk: disk).restore())
    disk.capacity = disk.used
    #expect(SpaceReserve(disk: disk).restore())
  }

  @Test func aVaultHasItFromTheStartAndKeepsIt() throws {
    let vault = try TestVault()
    #expect(vault.disk.size(of: SpaceReserve.name) == Int(SpaceReserve.bytes))
    let engine = try vault.open()
    let reserve = engine.reserve
    #expect(reserve.isWhole)
    #expect(reserve.release())
    try engine.checkpoint()
    #expect(reserve.isWhole)
    try engine.close()
  }
}
