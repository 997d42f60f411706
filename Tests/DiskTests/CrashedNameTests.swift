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
}
