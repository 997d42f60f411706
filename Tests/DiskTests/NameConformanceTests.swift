import Disk
import POSIX
import TestKit
import Testing

/// Names and folders, on a real disk and on the simulated one.
@Suite struct NameConformanceTests {
  @Test(arguments: DiskKind.allCases)
  func foldersHoldObjects(_ kind: DiskKind) throws {
    let test = try kind.make()
    try test.disk.createFolder("data")
    try test.disk.createFolder("data")
    _ = try test.disk.create("data/one")
    _ = try test.disk.create("data/two")
    _ = try test.disk.create("top")
    #expect(try test.disk.list("data").sorted() == ["one", "two"])
    #expect(try test.disk.list("").sorted() == ["data", "top"])
    try test.disk.syncFolder("data")
    try test.disk.syncFolder("")
    try test.disk.remove("data/one")
    #expect(try test.disk.list("data") == ["two"])
  }

  @Test(arguments: DiskKind.allCases)
  func aFolderIsNoObject(_ kind: DiskKind) throws {
    let test = try kind.make()
    try test.disk.createFolder("data")
    #expect(test.disk.openFailure("data", writable: true) == .isDirectory)
    #expect(test.disk.openFailure("data", writable: false) == .invalid)
    #expect(test.disk.createFailure("data") == .exists)
    #expect(
      failure { () throws(DiskError) in try test.disk.remove("data") } == .isDirectory)
  }

  @Test(arguments: DiskKind.allCases)
  func anObjectIsNoFolder(_ kind: DiskKind) throws {
    let test = try kind.make()
    _ = try test.disk.create("object")
    #expect(
      failure { () throws(DiskError) in try test.disk.createFolder("object") } == .notDirectory)
  }

  @Test(arguments: DiskKind.allCases)
  func aRenameReplaces(_ kind: DiskKind) throws {
    let test = try kind.make()
    try test.disk.create("old").put([1], at: 0)
    try test.disk.create("new").put([2], at: 0)
    let replaced = try test.disk.open("new", writable: true)
    try test.disk.rename("old", to: "new")
    #expect(try test.disk.list("") == ["new"])
    #expect(try test.disk.open("new", writable: false).get(9, at: 0) == [1])
    // Whoever had the replaced object open still has it.
    #expect(try replaced.get(9, at: 0) == [2])
    try test.disk.createFolder("folder")
    try test.disk.rename("new", to: "folder/moved")
    #expect(try test.disk.list("folder") == ["moved"])
  }

  @Test(arguments: DiskKind.allCases)
  func aRemovedObjectLivesWhileItIsOpen(_ kind: DiskKind) throws {
    let test = try kind.make()
    let file = try test.disk.create("object")
    try file.put([1, 2, 3], at: 0)
    try test.disk.remove("object")
    try test.disk.syncFolder("")
    #expect(try test.disk.list("") == [])
    #expect(try file.get(3, at: 0) == [1, 2, 3])
    try file.put([4], at: 3)
    #expect(try file.size() == 4)
  }

  @Test(arguments: DiskKind.allCases)
  func thereIsSpace(_ kind: DiskKind) throws {
    let test = try kind.make()
    let space = try test.disk.space()
    #expect(space.total > 0)
    #expect(space.free <= space.total)
  }
}
