import FileTree
import POSIX
import Testing
import Volume

/// Paths lead where the kernel would go if the top were the root of everything, and nowhere else.
@Suite struct PathTests {
  /// a/file, a/b/deep, and links of all sorts.
  private func tree(_ kind: TreeKind) throws -> TestTree {
    let tree = try TestTree(kind)
    try tree.makeFolder("a")
    try tree.makeFolder("a/b")
    try tree.makeFile("a/file", [1])
    try tree.makeFile("a/b/deep", [2])
    try tree.makeLink("a/up", to: "../../../a")
    try tree.makeLink("a/b/absolute", to: "/a/file")
    try tree.makeLink("outside", to: "/etc/passwd")
    try tree.makeLink("far", to: "../../../../../../etc/passwd")
    try tree.makeLink("nowhere", to: "missing/x")
    try tree.makeLink("new", to: "a/made")
    try tree.makeLink("loop", to: "loop")
    return tree
  }

  @Test(arguments: TreeKind.allCases)
  func whatIsThereIsFound(kind: TreeKind) throws {
    let tree = try tree(kind)
    for path in ["a/file", "/a/file", "//a/./b/../file", "a/up/file", "a/b/absolute", "../a/file"] {
      let content = try tree.content(path)
      #expect(content == [1], "\(path)")
    }
    let deep = try tree.content("a/up/up/b/deep")
    #expect(deep == [2])
    for path in ["", "/", ".", "..", "a/..", "a/../../.."] {
      let place = try tree.place(path)
      #expect(place.name == nil && place.isFolder, "\(path)")
    }
  }

  /// The machine's file of that name has nothing to do with it.
  @Test(arguments: TreeKind.allCases)
  func nothingLeadsOutside(kind: TreeKind) throws {
    let tree = try tree(kind)
    for path in ["outside", "far", "/etc/passwd", "../../../etc/passwd", "outside/"] {
      let problem = failure { () throws(VolumeError) in _ = try tree.file(path) }
      #expect(problem == .system(.noSuchFile), "\(path)")
    }
    try tree.makeFolder("etc")
    try tree.makeFile("etc/passwd", [7])
    for path in ["outside", "far"] {
      let content = try tree.content(path)
      #expect(content == [7], "\(path)")
    }
  }

  @Test(arguments: TreeKind.allCases)
  func circlesEnd(kind: TreeKind) throws {
    let tree = try tree(kind)
    let problem = failure { () throws(VolumeError) in _ = try tree.place("loop", .followsLast) }
    #expect(problem == .system(.loop))
    let inside = failure { () throws(VolumeError) in _ = try tree.place("loop/x") }
    #expect(inside == .system(.loop))
    for number in 0...PathWalk.mostLinks {
      try tree.makeLink("chain\(number)", to: "chain\(number + 1)")
    }
    try tree.makeFile("chain\(PathWalk.mostLinks + 1)", [3])
    let tooLong = failure { () throws(VolumeError) in _ = try tree.file("chain0") }
    #expect(tooLong == .system(.loop))
    let longest = try tree.content("chain1")
    #expect(longest == [3])
  }

  @Test(arguments: TreeKind.allCases)
  func theLastLinkIsFollowedOnlyIfWanted(kind: TreeKind) throws {
    let tree = try tree(kind)
    #expect(try tree.place("a/b/absolute").information?.kind == .link)
    #expect(try tree.place("a/b/absolute", .followsLast).information?.kind == .file)
    #expect(try tree.place("a/up").information?.kind == .link)
    #expect(try tree.place("a/up/").information?.kind == .folder)
    let made = try tree.place("new", .followsLast)
    #expect(made.information == nil && made.name == Array("made".utf8))
    let problem = failure { () throws(VolumeError) in _ = try tree.place("nowhere", .followsLast) }
    #expect(problem == .system(.noSuchFile))
  }

  @Test(arguments: TreeKind.allCases)
  func aFileIsNoFolder(kind: TreeKind) throws {
    let tree = try tree(kind)
    for path in ["a/file/", "a/file/x", "a/file/.", "a/b/absolute/", "a/file/../file"] {
      let problem = failure { () throws(VolumeError) in _ = try tree.place(path) }
      #expect(problem == .system(.notDirectory), "\(path)")
    }
  }

  @Test(arguments: TreeKind.allCases)
  func foldersOnTheWayAreMadeAndTakenAway(kind: TreeKind) throws {
    let tree = try tree(kind)
    let before = try tree.all()
    let place = try tree.place("x/y/z", .makesFolders)
    #expect(place.name == Array("z".utf8) && place.information == nil)
    #expect(try tree.place("x").information?.permissions == 0o700)
    place.removeMade()
    #expect(try tree.all() == before)
    let problem = failure { () throws(VolumeError) in _ = try tree.place("x/y/../q/loop/z") }
    #expect(problem == .system(.noSuchFile))
    let halfway = failure { () throws(VolumeError) in
      _ = try tree.place("x/y/../../loop/z", .makesFolders)
    }
    #expect(halfway == .system(.loop))
    #expect(try tree.all() == before)
  }

  @Test(arguments: TreeKind.allCases)
  func longNamesAreRefused(kind: TreeKind) throws {
    let tree = try tree(kind)
    let name = String(repeating: "n", count: 256)
    let problem = failure { () throws(VolumeError) in _ = try tree.place(name) }
    #expect(problem == .system(.nameTooLong))
  }
}
