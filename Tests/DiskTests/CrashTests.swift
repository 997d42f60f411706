import Disk
import POSIX
import TestKit
import Testing

/// The simulated disk keeps what was synced and nothing else for certain.
@Suite struct CrashTests {
  private let disk = SimulatedDisk()
  private static let old = [UInt8](repeating: 1, count: 8192)
  private static let new = [UInt8](repeating: 2, count: 8192)

  /// An object with `old` in it that lasts.
  private func lasting(_ name: String = "object") throws -> any DiskFile {
    let file = try disk.create(name)
    try file.put(Self.old, at: 0)
    try file.sync()
    try disk.syncFolder("")
    return file
  }

  @Test func aNameLastsWithItsFolder() throws {
    let file = try disk.create("object")
    try file.put([1], at: 0)
    try file.sync()
    #expect(disk.crashed(seed: 1, mode: .dropAll).names == [])
    try disk.syncFolder("")
    #expect(disk.crashed(seed: 1, mode: .dropAll).content(of: "object") == [1])
  }

  @Test func contentsLastWithTheFileAlone() throws {
    let file = try disk.create("object")
    try file.put([1], at: 0)
    try disk.syncFolder("")
    #expect(disk.crashed(seed: 1, mode: .dropAll).content(of: "object") == [])
    try file.sync()
    #expect(disk.crashed(seed: 1, mode: .dropAll).content(of: "object") == [1])
  }

  @Test func aKillLosesNothingButStaysUnsynced() throws {
    let file = try lasting()
    try file.put(Self.new, at: 0)
    let killed = disk.crashed(seed: 1, mode: .keepAll)
    #expect(killed.content(of: "object") == Self.new)
    #expect(killed.crashed(seed: 1, mode: .dropAll).content(of: "object") == Self.old)
  }

  @Test func whatIsInALostFolderIsLost() throws {
    try disk.createFolder("data")
    try disk.create("data/object").sync()
    try disk.syncFolder("data")
    #expect(disk.crashed(seed: 1, mode: .dropAll).names == [])
    try disk.syncFolder("")
    #expect(disk.crashed(seed: 1, mode: .dropAll).names == ["data/object"])
  }

  @Test func writesAreKeptLostAndTornBySectors() throws {
    let file = try lasting()
    try file.put(Self.new, at: 0)
    var outcomes: Set<[UInt8]> = []
    for seed in 0..<200 as Range<UInt64> {
      let content = try #require(disk.crashed(seed: seed, mode: .random).content(of: "object"))
      #expect(content.count == 8192)
      for sector in stride(from: 0, to: 8192, by: 512) {
        let bytes = Set(content[sector..<(sector + 512)])
        #expect(bytes.count == 1, "a sector is written as a whole")
      }
      outcomes.insert(content)
    }
    #expect(outcomes.contains(Self.old))
    #expect(outcomes.contains(Self.new))
    #expect(outcomes.count > 20)
  }

  @Test func sizesAreKeptOrLost() throws {
    let file = try lasting()
    try file.resize(100)
    let sizes = Set(
      (0..<100 as Range<UInt64>).map { disk.crashed(seed: $0, mode: .random).size(of: "object") })
    #expect(sizes == [100, 8192])
  }

  @Test func aSeedRepeatsItself() throws {
    let file = try lasting()
    for index in 0..<10 { try file.put(Self.new, at: UInt64(index) * 1000) }
    for seed in 0..<20 as Range<UInt64> {
      let first = disk.crashed(seed: seed, mode: .random).content(of: "object")
      #expect(disk.crashed(seed: seed, mode: .random).content(of: "object") == first)
    }
  }
}
