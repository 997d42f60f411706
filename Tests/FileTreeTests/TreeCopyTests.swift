import FileTree
import POSIX
import TestKit
import Testing
import Volume

@Suite struct TreeCopyTests {
  private static let name = Array("copy".utf8)

  /// Folders, files, links that lead somewhere and nowhere, and a name that is no text.
  private func tree(_ kind: TreeKind) throws -> TestTree {
    let tree = try TestTree(kind)
    try tree.makeFolder("s")
    try tree.makeFolder("s/sub")
    try tree.makeFolder("s/empty")
    try tree.makeFile("s/one", [1])
    try tree.makeFile("s/sub/two", [2, 2])
    try tree.makeLink("s/link", to: "sub/two")
    try tree.makeLink("s/out", to: "/etc/passwd")
    _ = try tree.folder("s").makeFile([0xff, 0x0a])
    var kept = KeptAttributes(permissions: 0o500)
    kept.modified = Timestamp(seconds: 1_000_000_000, nanoseconds: 5)
    _ = try tree.folder("s/sub").take(kept)
    return tree
  }

  @Test(arguments: CopyTests.ways)
  func allOfATreeIsCopied(way: CopyTests.Way) throws {
    let (from, to) = (try tree(way.from), try TestTree(way.to))
    var copy = TreeCopy(CopyOptions())
    try copy.copy(try from.folder("s"), to: to.top, as: Self.name)
    let names = try from.folder("s").names().sorted { $0.lexicographicallyPrecedes($1) }
    let copied = try to.folder("copy").names().sorted { $0.lexicographicallyPrecedes($1) }
    #expect(names == copied && names.count == 6)
    #expect(try to.content("copy/one") == [1] && to.content("copy/sub/two") == [2, 2])
    #expect(try to.folder("copy").linkTarget(of: Array("out".utf8)) == Array("/etc/passwd".utf8))
    let sub = try to.folder("copy/sub").information()
    #expect(sub.permissions == 0o500 && sub.modified.seconds == 1_000_000_000)
    #expect(TreeCopy.size(of: try to.folder("copy")) == 3)
    _ = try to.folder("copy/sub").take(KeptAttributes(permissions: 0o700))
    _ = try from.folder("s/sub").take(KeptAttributes(permissions: 0o700))
  }

  @Test(arguments: TreeKind.allCases)
  func whatIsThereIsLeftOrReplaced(kind: TreeKind) throws {
    let (from, to) = (try tree(.system), try TestTree(kind))
    try to.makeFolder("copy")
    try to.makeFile("copy/one", [9])
    try to.makeFile("copy/mine", [8])
    try to.makeFolder("copy/link")
    try to.makeFile("copy/sub", [7])
    for replaces in [false, true] {
      var problems: [String: CopyProblem] = [:]
      var options = CopyOptions()
      options.replaces = replaces
      options.report = { problems[String(decoding: $0, as: UTF8.self)] = $1 }
      var copy = TreeCopy(options)
      try copy.copy(try from.folder("s"), to: to.top, as: Self.name)
      // A folder takes the place of nothing, and nothing that of a folder.
      #expect(problems["sub"] == .exists && problems["link"] == .exists)
      #expect((problems["one"] == nil) == replaces)
      let (one, mine) = (try to.content("copy/one"), try to.content("copy/mine"))
      #expect(one == (replaces ? [1] : [9]) && mine == [8])
      #expect(try to.content("copy/sub") == [7])
    }
    _ = try from.folder("s/sub").take(KeptAttributes(permissions: 0o700))
  }

  @Test func whatHasNoContentIsTold() throws {
    let from = try TestTree(.system)
    let outcome = try System.spawn(
      "/usr/bin/mkfifo", ["mkfifo", from.path + "/pipe"], descriptors: [.null, .null, .null],
      detached: false)
    #expect(try System.wait(for: outcome) == .exited(0))
    try from.makeFile("file", [1])
    let to = try TestTree(.volume)
    var problems: [CopyProblem] = []
    var options = CopyOptions()
    options.report = { problems.append($1) }
    var copy = TreeCopy(options)
    try copy.copy(from.top, to: to.top, as: Self.name)
    let all = try to.all()
    #expect(problems == [.special(.fifo)] && all == ["copy", "copy/file"])
  }

  /// A copy that goes into what is copied would not end.
  @Test func aCopyIntoItselfEnds() throws {
    let tree = try tree(.system)
    var problems: [CopyProblem] = []
    var options = CopyOptions()
    options.report = { problems.append($1) }
    var copy = TreeCopy(options)
    try copy.copy(try tree.folder("s"), to: try tree.folder("s/empty"), as: Self.name)
    #expect(problems == [.inside])
    let two = try tree.content("s/empty/copy/sub/two")
    let nested = failure { () throws(VolumeError) in
      _ = try tree.folder("s/empty/copy/empty/copy").names()
    }
    #expect(two == [2, 2] && nested == .system(.noSuchFile))
    for path in ["s/sub", "s/empty/copy/sub"] {
      _ = try tree.folder(path).take(KeptAttributes(permissions: 0o700))
    }
  }
}
