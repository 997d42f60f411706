import Bytes
import FileTree
import POSIX
import TestKit
import Testing
import Volume

/// Copies from tree to tree, in all four directions.
@Suite struct CopyTests {
  struct Way: CustomStringConvertible {
    let from: TreeKind
    let to: TreeKind
    var description: String { "\(from) to \(to)" }
  }

  static let ways = TreeKind.allCases.flatMap { from in
    TreeKind.allCases.map { Way(from: from, to: $0) }
  }
  private static let name = Array("copy".utf8)

  private func options(_ change: (inout CopyOptions) -> Void = { _ in }) -> CopyOptions {
    var options = CopyOptions()
    change(&options)
    return options
  }

  private func pattern(_ count: Int) -> [UInt8] { (0..<count).map { UInt8($0 * 7 % 251) } }

  @Test(arguments: ways)
  func aFileKeepsContentAndAttributes(way: Way) throws {
    let (from, to) = (try TestTree(way.from), try TestTree(way.to))
    try from.makeFile("file", pattern(10_001))
    let source = try from.file("file")
    var kept = KeptAttributes(permissions: 0o640)
    kept.modified = Timestamp(seconds: 1_234_567_890, nanoseconds: 123_456_789)
    _ = try source.take(kept)
    var told: UInt64 = 0
    let copy = FileCopy(options { $0.tell = { told += $0 } })
    let isWhole = try copy.copy(source, to: to.top, as: Self.name)
    let content = try to.content("copy")
    let information = try to.file("copy").information()
    #expect(isWhole && content == pattern(10_001) && told == 10_001)
    #expect(information.permissions == 0o640 && information.modified == kept.modified)
    #expect(try to.all() == ["copy"])
  }

  @Test(arguments: ways)
  func extendedAttributesAreKept(way: Way) throws {
    let (from, to) = (try TestTree(way.from), try TestTree(way.to))
    try from.makeFile("file", [1])
    var kept = KeptAttributes(permissions: 0o600)
    let attribute = ExtendedAttribute(name: Array("user.note".utf8), value: pattern(300))
    kept.extended = [attribute]
    // Not every scratch folder keeps such attributes.
    guard try from.file("file").take(kept) else { return }
    let isWhole = try FileCopy(options()).copy(
      try from.file("file"), to: to.top, as: Self.name)
    let found = try to.file("copy").extendedAttributes()
    #expect(!isWhole || found == [attribute])
  }

  @Test(arguments: ways)
  func holesStayHoles(way: Way) throws {
    let (from, to) = (try TestTree(way.from), try TestTree(way.to))
    try from.makeFile("sparse", pattern(5000))
    let source = try from.file("sparse")
    let end: UInt64 = 1 << 33
    let writable = try reopen(source, from)
    try writable.write(Buffer([9]).bytes, at: end - 70_000)
    try writable.resize(to: end)
    var told: UInt64 = 0
    try FileCopy(options { $0.tell = { told += $0 } }).copy(
      writable, to: to.top, as: Self.name)
    let copy = try to.file("copy")
    #expect(try copy.information().size == end && told == end)
    let buffer = Buffer(count: 3)
    var span = buffer.mutableBytes(in: 0..<3)
    let count = try copy.read(into: &span, at: end - 70_001)
    #expect(count == 3 && buffer.load(0..<3) == [0, 9, 0])
  }

  /// A file that can be written: `file` opens to read.
  private func reopen(_ file: any File, _ tree: TestTree) throws -> any File {
    guard file is SystemFile else { return file }
    return try SystemFile(try System.open(tree.path + "/sparse", .readWrite))
  }

  @Test(arguments: TreeKind.allCases)
  func aFileIsReplacedOnlyIfWanted(kind: TreeKind) throws {
    let (from, to) = (try TestTree(.system), try TestTree(kind))
    try from.makeFile("new", [2])
    try to.makeFile("copy", [1])
    let source = try from.file("new")
    let problem = copyFailure { () throws(CopyError) in
      _ = try FileCopy(options()).copy(source, to: to.top, as: Self.name)
    }
    #expect(problem == .target(.system(.exists)))
    #expect(try to.content("copy") == [1] && to.all() == ["copy"])
    try FileCopy(options { $0.replaces = true }).copy(source, to: to.top, as: Self.name)
    #expect(try to.content("copy") == [2] && to.all() == ["copy"])
  }

  /// Stopped in the middle, the old file is there and nothing else.
  @Test(arguments: TreeKind.allCases)
  func whatIsStoppedLeavesNothing(kind: TreeKind) throws {
    let (from, to) = (try TestTree(.system), try TestTree(kind))
    try from.makeFile("new", pattern(3 << 20))
    try to.makeFile("copy", [1])
    var pieces = 0
    let stopping = options {
      $0.replaces = true
      $0.tell = { _ in pieces += 1 }
      $0.isStopped = { pieces == 2 }
    }
    let source = try from.file("new")
    let problem = copyFailure { () throws(CopyError) in
      _ = try FileCopy(stopping).copy(source, to: to.top, as: Self.name)
    }
    #expect(problem == .stopped && pieces == 2)
    #expect(try to.content("copy") == [1] && to.all() == ["copy"])
  }

  @Test(arguments: TreeKind.allCases)
  func aStreamIsCopiedToItsEnd(kind: TreeKind) throws {
    let to = try TestTree(kind)
    let all = pattern(60_000)
    let pipe = try Pipe()
    let stream = ByteStream(try System.duplicate(pipe.reading.rawValue))
    let number = pipe.intoWriting().detach()
    let writer = try Thread.start("test-writer") {
      let end = Descriptor(owning: number)
      for start in stride(from: 0, to: all.count, by: 1000) {
        try? System.print(Array(all[start..<start + 1000]), to: end.rawValue)
      }
    }
    try FileCopy(options()).copy(stream, to: to.top, as: Self.name)
    writer.join()
    let content = try to.content("copy")
    #expect(content == all)
    #expect(try to.file("copy").information().permissions == 0o600)
  }

  /// Nobody writes and nobody closes: whoever waits can be stopped.
  @Test(.timeLimit(.minutes(1)), arguments: TreeKind.allCases)
  func aSilentStreamCanBeStopped(kind: TreeKind) throws {
    let to = try TestTree(kind)
    try to.makeFile("copy", [1])
    let pipe = try Pipe()
    let stream = ByteStream(try System.duplicate(pipe.reading.rawValue))
    var looks = 0
    let stopping = options {
      $0.replaces = true
      $0.isStopped = {
        looks += 1
        return looks > 2
      }
    }
    let problem = copyFailure { () throws(CopyError) in
      try FileCopy(stopping).copy(stream, to: to.top, as: Self.name)
    }
    #expect(problem == .stopped)
    #expect(try to.content("copy") == [1] && to.all() == ["copy"])
  }

  /// What reaches a file that exists keeps its permissions.
  @Test(arguments: TreeKind.allCases)
  func aStreamTakesThePermissionsOver(kind: TreeKind) throws {
    let to = try TestTree(kind)
    try to.makeFile("copy", [1])
    _ = try to.file("copy").take(KeptAttributes(permissions: 0o644))
    let other = ScratchDirectory()
    try writeFile(other.path("file"), [2])
    let stream = ByteStream(try System.open(other.path("file"), .readOnly))
    try FileCopy(options { $0.replaces = true }).copy(stream, to: to.top, as: Self.name)
    let information = try to.file("copy").information()
    #expect(try to.content("copy") == [2] && information.permissions == 0o644)
  }
}
