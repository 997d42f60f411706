import Disk
import POSIX
import TestKit
import Testing

/// What becomes of names in a power loss.
@Suite struct CrashedNameTests {
  private let disk = SimulatedDisk()

  private func outcomes(_ mode: CrashMode) -> Set<[String]> {
    Set((0..<300 as Range<UInt64>).map { disk.crashed(seed: $0, mode: mode).names })
  }

  @Test func aPrefixKeepsTheOrder() throws {
    for name in ["a", "b", "c"] { _ = try disk.create(name) }
    #expect(outcomes(.prefix) == [[], ["a"], ["a", "b"], ["a", "b", "c"]])
  }

  @Test func aSubsetKeepsAny() throws {
    for name in ["a", "b"] { _ = try disk.create(name) }
    #expect(outcomes(.subset) == [[], ["a"], ["b"], ["a", "b"]])
  }

  @Test func aRenameIsOneChange() throws {
    try disk.create("new").put([1], at: 0)
    _ = try disk.create("object")
    try disk.syncFolder("")
    try disk.rename("new", to: "object")
    #expect(outcomes(.subset) == [["new", "object"], ["object"]])
    try disk.syncFolder("")
    #expect(outcomes(.subset) == [["object"]])
  }

  @Test func aRenameBetweenFoldersNeedsBoth() throws {
    try disk.createFolder("data")
    _ = try disk.create("object")
    try disk.syncFolder("")
    try disk.rename("object", to: "data/object")
    try disk.syncFolder("data")
    #expect(disk.crashed(seed: 1, mode: .dropAll).names == ["object"])
    try disk.syncFolder("")
    #expect(disk.crashed(seed: 1, mode: .dropAll).names == ["data/object"])
  }

  @Test func aRemovedObjectMayComeBack() throws {
    try disk.create("object").put([1], at: 0)
    try disk.open("object", writable: true).sync()
    try disk.syncFolder("")
    try disk.remove("object")
    #expect(disk.names == [])
    #expect(disk.crashed(seed: 1, mode: .dropAll).content(of: "object") == [1])
    try disk.syncFolder("")
    #expect(disk.crashed(seed: 1, mode: .dropAll).names == [])
  }

  @Test func aNameGoesForwardInTime() throws {
    try disk.create("object").put([1], at: 0)
    try disk.open("object", writable: true).sync()
    try disk.syncFolder("")
    try disk.create("new").put([2], at: 0)
    try disk.open("new", writable: true).sync()
    try disk.rename("new", to: "object")
    try disk.rename("object", to: "last")
    // Whoever is "last" has been "object" before, and the first one was replaced on the way.
    let states: Set<[String: [UInt8]]> = [
      ["object": [1]], ["object": [1], "new": [2]], ["object": [2]], ["last": [2]],
    ]
    for mode in [CrashMode.prefix, .subset] {
      let found = (0..<200 as Range<UInt64>).map { seed in
        let crashed = disk.crashed(seed: seed, mode: mode)
        return Dictionary(
          uniqueKeysWithValues: crashed.names.map { ($0, crashed.content(of: $0) ?? []) })
      }
      #expect(Set(found) == states)
    }
  }

  @Test func whatALastingChangeBuildsOnLastsToo() throws {
    try disk.createFolder("data")
    try disk.syncFolder("")
    try disk.create("object").sync()
    try disk.rename("object", to: "data/object")
    try disk.remove("data/object")
    // The removal is certain with its folder; so the rename before it cannot be undone.
    try disk.syncFolder("data")
    #expect(disk.crashed(seed: 1, mode: .dropAll).names == [])
  }
}
