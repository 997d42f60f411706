import FileTree
import Testing
import Volume

@Suite struct ListingTests {
  @Test(arguments: TreeKind.allCases)
  func namesComeInTheOrderOfTheirBytes(kind: TreeKind) throws {
    let tree = try TestTree(kind)
    for name in ["b", "a", "B", "\u{e9}", "a b", "-x"] { try tree.makeFile(name) }
    try tree.makeFolder("a-folder")
    try tree.makeFile("a-folder/z")
    try tree.makeFile("a-folder/y")
    try tree.makeLink("link", to: "a-folder")
    let all = try tree.all()
    #expect(
      all == [
        "-x", "B", "a", "a b", "a-folder", "a-folder/y", "a-folder/z", "b", "link", "\u{e9}",
      ])
    var top: [[UInt8]] = []
    try TreeListing.entries(of: tree.top, isWhole: false) { entry in
      top.append(entry.path)
      return top.count < 5
    }
    #expect(top.last == Array("a-folder".utf8) && top.count == 5)
  }

  /// A name is bytes, whatever they are.
  @Test(arguments: TreeKind.allCases)
  func namesStayAsTheyAre(kind: TreeKind) throws {
    let tree = try TestTree(kind)
    let names: [[UInt8]] = [[0xff, 0xfe], [0x0a], [0x1b, 0x5b], Array("e\u{301}".utf8)]
    for name in names { _ = try tree.top.makeFile(name) }
    let found = try tree.top.names()
    #expect(Set(found) == Set(names))
    for name in names {
      let place = try PathWalk.place(of: name, in: tree.top)
      #expect(place.name == name && place.information?.kind == .file)
    }
  }

  @Test(arguments: TreeKind.allCases)
  func aFolderGoesWithAllThatIsInIt(kind: TreeKind) throws {
    let tree = try TestTree(kind)
    try tree.makeFile("kept", [1])
    try tree.makeFolder("gone")
    try tree.makeFolder("gone/sub")
    try tree.makeFile("gone/sub/file")
    try tree.makeFile("gone/file")
    try tree.makeLink("gone/link", to: "../kept")
    try tree.makeLink("gone/folder", to: "..")
    var looks = 0
    var removal = Removal { () throws(VolumeError) in looks += 1 }
    try removal.remove(Array("gone".utf8), in: tree.top, isFolder: true)
    let left = try tree.all()
    #expect(left == ["kept"] && looks > 5)
  }

  @Test func depthHasNoEnd() throws {
    let tree = try TestTree(.volume)
    var folder = tree.top
    for _ in 0..<3000 {
      try folder.makeFolder([0x64])
      folder = try folder.folder([0x64])
    }
    var count = 0
    try TreeListing.entries(of: tree.top, isWhole: true) { _ in
      count += 1
      return true
    }
    #expect(count == 3000)
    var removal = Removal { () throws(VolumeError) in }
    try removal.remove([0x64], in: tree.top, isFolder: true)
    let left = try tree.all()
    #expect(left == [])
  }
}
