package import POSIX

extension ModelVolume {
  private func content(_ number: Int) throws(Errno) -> SparseContent {
    switch node(number).kind {
    case .file(let content): return content
    case .directory: throw .isDirectory
    case .symlink, .fifo: throw .invalid
    }
  }

  private mutating func changeContent(
    _ path: Path, _ body: (inout SparseContent) -> Void
  ) throws(Errno) {
    let number = try find(path)
    _ = try content(number)
    change(number) { node in
      guard case .file(var content) = node.kind else { return }
      node.kind = .directory([:])  // so that the content is not shared while it changes
      body(&content)
      node.kind = .file(content)
    }
  }

  package mutating func write(_ path: Path, at offset: Int, _ bytes: [UInt8]) throws(Errno) {
    try changeContent(path) { $0.write(bytes, 0..<bytes.count, at: offset) }
  }

  package mutating func truncate(_ path: Path, to size: Int) throws(Errno) {
    try changeContent(path) { $0.resize(size) }
  }

  /// Makes a range read as zeros; the size stays.
  package mutating func punch(_ path: Path, _ range: Range<Int>) throws(Errno) {
    try changeContent(path) { $0.punch(range) }
  }

  package mutating func allocate(_ path: Path, _ range: Range<Int>) throws(Errno) {
    try changeContent(path) { $0.resize(max($0.size, range.upperBound)) }
  }

  package func read(_ path: Path, _ range: Range<Int>) throws(Errno) -> [UInt8] {
    try content(try find(path)).read(range)
  }

  package func size(of path: Path) throws(Errno) -> Int {
    try content(try find(path)).size
  }

  package func list(_ path: Path) throws(Errno) -> [[UInt8]] {
    try entries(try find(path)).keys.sorted { $0.lexicographicallyPrecedes($1) }
  }

  package mutating func setMode(_ path: Path, _ mode: UInt32) throws(Errno) {
    change(try find(path)) { $0.mode = mode }
  }

  package mutating func setTimes(_ path: Path, _ time: Int64) throws(Errno) {
    change(try find(path)) { $0.accessed = time }
  }

  package mutating func setAttribute(
    _ path: Path, _ name: [UInt8], to value: [UInt8]
  ) throws(Errno) {
    change(try find(path)) { $0.attributes[name] = value }
  }

  package mutating func removeAttribute(_ path: Path, _ name: [UInt8]) throws(Errno) {
    let number = try find(path)
    guard node(number).attributes[name] != nil else { throw .noData }
    change(number) { $0.attributes[name] = nil }
  }
}
