import POSIX

/// A path from the root: names as bytes, none for the root itself.
package typealias Path = [[UInt8]]

/// An inode of the model.
struct ModelNode: Sendable {
  enum Kind: Sendable {
    case file(SparseContent)
    case directory([[UInt8]: Int])
    case symlink([UInt8])
    case fifo
  }

  var kind: Kind
  var links: Int
  var attributes: [[UInt8]: [UInt8]] = [:]
  var mode: UInt32 = 0o644
  /// The time of the last access in seconds, once it was set.
  var accessed: Int64?

  var entries: [[UInt8]: Int]? {
    if case .directory(let entries) = kind { entries } else { nil }
  }
}

/// A tree of files as POSIX has it, in memory and with nothing behind it: what Coffre has to match.
///
/// The checks are made in the order in which a filesystem gets to see them, so that error numbers
/// can be compared too.
package struct ModelVolume: Sendable {
  static let root = 1
  private(set) var nodes: [Int: ModelNode]
  private var next = 2

  package init() { nodes = [Self.root: ModelNode(kind: .directory([:]), links: 2)] }

  func node(_ number: Int) -> ModelNode {
    guard let node = nodes[number] else { preconditionFailure("the model has its nodes") }
    return node
  }

  /// The number of the node that each path has, by the path's text.
  package var numbers: [String: Int] {
    var numbers: [String: Int] = [:]
    var waiting: [(Path, Int)] = [([], Self.root)]
    while let (path, number) = waiting.popLast() {
      numbers[Listing.text(path)] = number
      for (name, child) in node(number).entries ?? [:] { waiting.append((path + [name], child)) }
    }
    return numbers
  }

  /// Regular files in the order of their paths.
  package var files: [(path: Path, number: Int)] {
    var files: [(path: Path, number: Int)] = []
    var waiting: [(Path, Int)] = [([], Self.root)]
    while let (path, number) = waiting.popLast() {
      let node = node(number)
      if case .file = node.kind { files.append((path, number)) }
      let entries = (node.entries ?? [:]).sorted { $0.key.lexicographicallyPrecedes($1.key) }
      for (name, child) in entries.reversed() { waiting.append((path + [name], child)) }
    }
    return files
  }

  /// The node that has a path; nil if none has.
  package func number(of path: Path) -> Int? { try? find(path) }

  package func hasNode(_ number: Int) -> Bool { nodes[number] != nil }

  package func bytes(of number: Int) -> [UInt8] {
    guard case .file(let content) = node(number).kind else { return [] }
    return content.read(0..<content.size)
  }

  mutating func make(_ kind: ModelNode.Kind) -> Int {
    defer { next += 1 }
    var node = ModelNode(kind: kind, links: 1)
    switch kind {
    case .directory:
      node.links = 2
      node.mode = 0o755
    case .symlink: node.mode = 0o777
    case .file, .fifo: break
    }
    nodes[next] = node
    return next
  }

  mutating func change(_ number: Int, _ body: (inout ModelNode) -> Void) {
    var node = node(number)
    nodes[number] = nil  // so that the content is not shared while it changes
    body(&node)
    nodes[number] = node
  }

  /// Takes one link away; the last one, or that of a directory, takes the node with it.
  mutating func drop(_ number: Int) {
    var node = node(number)
    node.links -= 1
    nodes[number] = node.links == 0 || node.entries != nil ? nil : node
  }

  func entries(_ directory: Int) throws(Errno) -> [[UInt8]: Int] {
    guard let entries = node(directory).entries else { throw .notDirectory }
    return entries
  }

  /// Puts a name into a directory or, with nil, takes it out.
  mutating func set(_ name: [UInt8], _ number: Int?, in directory: Int) {
    guard var entries = node(directory).entries else { return }
    let wasDirectory = entries[name].map { nodes[$0]?.entries != nil } ?? false
    entries[name] = number
    let isDirectory = number.map { node($0).entries != nil } ?? false
    nodes[directory]?.kind = .directory(entries)
    nodes[directory]?.links += (isDirectory ? 1 : 0) - (wasDirectory ? 1 : 0)
  }

  func find(_ path: Path) throws(Errno) -> Int {
    var current = Self.root
    for name in path {
      guard let found = try entries(current)[name] else { throw .noSuchFile }
      current = found
    }
    return current
  }

  /// The directory a path's last name is in, and that name.
  func place(_ path: Path) throws(Errno) -> (directory: Int, name: [UInt8]) {
    guard let name = path.last else { throw .invalid }
    let directory = try find(Array(path.dropLast()))
    _ = try entries(directory)
    return (directory, name)
  }

  /// Whether a link has this path; nil if nothing has.
  package func isSymlink(_ path: Path) -> Bool? {
    guard let number = try? find(path) else { return nil }
    if case .symlink = node(number).kind { return true }
    return false
  }

  func isBelow(_ directory: Int, _ ancestor: Int) -> Bool {
    if directory == ancestor { return true }
    return node(ancestor).entries?.values.contains { isBelow(directory, $0) } ?? false
  }
}
