import Bytes
package import Engine
import Format

/// One node of a `PageTree`.
///
///     0 kind 1 (1 leaf, 2 branch)   1 level 1   2 count 2
///     4 heap start 2   6 dead bytes 2   8 zero 8
///     leaf:   16 + 2i  offset of record i;  record: key 8, length 2, value
///     branch: 16 + 12i key 8, child page 4; the first key counts as 0
package struct TreeNode {
  private let bytes: Buffer
  let level: UInt8
  let count: Int

  private static let header = 16
  private static let recordHeader = 10
  private static let branchEntry = 12
  private static let maximumChildren = (Layout.chunkSize - header) / branchEntry

  /// Nil if the page is not a node. It was authenticated, but whoever has the keys can make any: a
  /// record is looked at when it is asked for, all of them before a change.
  init?(_ bytes: Buffer) {
    let kind = bytes.load(UInt8.self, at: 0)
    level = bytes.load(UInt8.self, at: 1)
    count = Int(bytes.load(UInt16.self, at: 2))
    self.bytes = bytes
    guard kind == (level == 0 ? 1 : 2), level < 12 else { return nil }
    if level == 0 {
      let heap = Int(bytes.load(UInt16.self, at: 4))
      guard Self.header + 2 * count <= heap, heap <= Layout.chunkSize else { return nil }
    } else {
      guard count <= Self.maximumChildren else { return nil }
    }
  }

  /// Whether a check may read all of it: it may be anything.
  var isSound: Bool { (try? check()) != nil }

  // MARK: - Reading

  /// Where a leaf's record is.
  private func record(_ index: Int) throws(EngineError) -> Range<Int> {
    let start = Int(bytes.load(UInt16.self, at: Self.header + 2 * index))
    let value = start + Self.recordHeader
    guard start >= Self.header + 2 * count, value <= Layout.chunkSize,
      case let end = value + Int(bytes.load(UInt16.self, at: value - 2)),
      end <= Layout.chunkSize
    else { throw .damaged("a record of a tree node") }
    return start..<end
  }

  package func key(_ index: Int) throws(EngineError) -> UInt64 {
    bytes.load(UInt64.self, at: try record(index).lowerBound)
  }

  package func value(_ index: Int) throws(EngineError) -> [UInt8] {
    bytes.load(try record(index).dropFirst(Self.recordHeader))
  }

  /// Of a leaf, keys and values from a key on.
  func records(from key: UInt64) throws(EngineError) -> [(key: UInt64, value: [UInt8])] {
    var found: [(key: UInt64, value: [UInt8])] = []
    for index in try lowerBound(key)..<count {
      found.append((try self.key(index), try value(index)))
    }
    return found
  }

  /// Throws for what changes would stumble over: keys out of order, values too long, records that
  /// take more than there is, a branch to nowhere. A leaf that was checked and changed here since
  /// is not gone through again.
  func check() throws(EngineError) {
    if bytes.isSound { return }
    var before: UInt64?
    var size = Int(bytes.load(UInt16.self, at: 6))
    for index in 0..<count {
      let key: UInt64
      if level == 0 {
        let record = try record(index)
        guard record.count <= Self.recordHeader + PageTree.maximumValue else {
          throw .damaged("a value of a tree node")
        }
        size += record.count
        key = try self.key(index)
      } else {
        key = index == 0 ? 0 : branchKey(index)
      }
      if let before, key <= before { throw .damaged("the order of a tree node") }
      before = key
    }
    let heap = Layout.chunkSize - Int(bytes.load(UInt16.self, at: 4))
    guard level == 0 ? size == heap : count > 0 else { throw .damaged("the size of a tree node") }
  }

  /// The first index whose key is not below `key`.
  func lowerBound(_ key: UInt64) throws(EngineError) -> Int {
    var low = 0
    var high = count
    while low < high {
      let middle = (low + high) / 2
      if try self.key(middle) < key { low = middle + 1 } else { high = middle }
    }
    return low
  }

  func branchKey(_ index: Int) -> UInt64 {
    bytes.load(UInt64.self, at: Self.header + Self.branchEntry * index)
  }

  func child(_ index: Int) -> UInt32 {
    bytes.load(UInt32.self, at: Self.header + Self.branchEntry * index + 8)
  }

  /// The last child whose first key is not above `key`.
  func childPosition(of key: UInt64) -> Int {
    var low = 1
    var high = count
    while low < high {
      let middle = (low + high) / 2
      if branchKey(middle) <= key { low = middle + 1 } else { high = middle }
    }
    return low - 1
  }

  /// Bytes of records and their offsets.
  var liveBytes: Int {
    Layout.chunkSize - Int(bytes.load(UInt16.self, at: 4)) - Int(bytes.load(UInt16.self, at: 6))
      + 2 * count
  }

  // MARK: - Changing a leaf, one that was checked

  static func formatLeaf(_ page: Draft) {
    page.store(UInt8(1), at: 0)
    page.store(UInt16(Layout.chunkSize), at: 4)
  }

  /// Adds a record; false if there is no room.
  static func insert(
    _ key: UInt64, _ value: [UInt8], into page: Draft
  ) throws(EngineError) -> Bool {
    guard let node = TreeNode(page.bytes) else { preconditionFailure("a leaf is edited") }
    let size = recordHeader + value.count
    var heap = Int(page.bytes.load(UInt16.self, at: 4))
    if heap - (header + 2 * node.count) < size + 2 {
      let dead = Int(page.bytes.load(UInt16.self, at: 6))
      guard heap + dead - (header + 2 * node.count) >= size + 2 else { return false }
      rewrite(page, with: try records(of: node, 0..<node.count))
      heap = Int(page.bytes.load(UInt16.self, at: 4))
    }
    let index = try node.lowerBound(key)
    heap -= size
    page.store(key, at: heap)
    page.store(UInt16(value.count), at: heap + 8)
    page.store(value, at: heap + recordHeader)
    let slot = header + 2 * index
    let end = header + 2 * node.count
    if slot < end { page.copy(from: page.bytes, slot..<end, to: slot + 2) }
    page.store(UInt16(heap), at: slot)
    page.store(UInt16(node.count + 1), at: 2)
    page.store(UInt16(heap), at: 4)
    page.bytes.isSound = true
    return true
  }

  static func remove(_ index: Int, from page: Draft) throws(EngineError) {
    guard let node = TreeNode(page.bytes) else { preconditionFailure("a leaf is edited") }
    let record = try node.record(index)
    // The name must not outlive its entry, not even inside sealed pages.
    page.zero(record)
    let slot = header + 2 * index
    let end = header + 2 * node.count
    if slot + 2 < end { page.copy(from: page.bytes, (slot + 2)..<end, to: slot) }
    page.store(UInt16(node.count - 1), at: 2)
    page.store(page.bytes.load(UInt16.self, at: 6) + UInt16(record.count), at: 6)
    page.bytes.isSound = true
  }

  private static func records(
    of node: TreeNode, _ range: Range<Int>
  ) throws(EngineError) -> [(UInt64, [UInt8])] {
    try range.map { (index) throws(EngineError) in (try node.key(index), try node.value(index)) }
  }

  private static func rewrite(_ page: Draft, with records: [(UInt64, [UInt8])]) {
    page.zero(0..<Layout.chunkSize)
    formatLeaf(page)
    var heap = Layout.chunkSize
    for (index, (key, value)) in records.enumerated() {
      heap -= recordHeader + value.count
      page.store(key, at: heap)
      page.store(UInt16(value.count), at: heap + 8)
      page.store(value, at: heap + recordHeader)
      page.store(UInt16(heap), at: header + 2 * index)
    }
    page.store(UInt16(records.count), at: 2)
    page.store(UInt16(heap), at: 4)
  }

  /// Moves the upper half, by bytes, to a new leaf. Returns the new leaf's first key.
  static func splitLeaf(_ page: Draft, into right: Draft) throws(EngineError) -> UInt64 {
    guard let node = TreeNode(page.bytes), node.count >= 2 else {
      preconditionFailure("a full leaf holds at least two records")
    }
    let all = try records(of: node, 0..<node.count)
    let half = all.reduce(0) { $0 + $1.1.count + recordHeader } / 2
    var size = 0
    var cut = 0
    while cut < all.count - 1 {
      size += all[cut].1.count + recordHeader
      cut += 1
      if size >= half { break }
    }
    rewrite(page, with: Array(all[..<cut]))
    rewrite(right, with: Array(all[cut...]))
    return all[cut].0
  }

  // MARK: - Changing a branch

  static func formatBranch(_ page: Draft, level: UInt8, _ children: [(UInt64, UInt32)]) {
    page.zero(0..<Layout.chunkSize)
    page.store(UInt8(2), at: 0)
    page.store(level, at: 1)
    page.store(UInt16(children.count), at: 2)
    for (index, (key, child)) in children.enumerated() {
      page.store(key, at: header + branchEntry * index)
      page.store(child, at: header + branchEntry * index + 8)
    }
  }

  /// Adds a child; false if there is no room.
  static func insertChild(
    _ key: UInt64, _ child: UInt32, at index: Int, into page: Draft
  ) -> Bool {
    let count = Int(page.bytes.load(UInt16.self, at: 2))
    guard count < maximumChildren else { return false }
    let start = header + branchEntry * index
    let end = header + branchEntry * count
    if start < end { page.copy(from: page.bytes, start..<end, to: start + branchEntry) }
    page.store(key, at: start)
    page.store(child, at: start + 8)
    page.store(UInt16(count + 1), at: 2)
    return true
  }

  static func removeChild(_ index: Int, from page: Draft) {
    let count = Int(page.bytes.load(UInt16.self, at: 2))
    let start = header + branchEntry * index
    let end = header + branchEntry * count
    if start + branchEntry < end {
      page.copy(from: page.bytes, (start + branchEntry)..<end, to: start)
    }
    page.zero((end - branchEntry)..<end)
    page.store(UInt16(count - 1), at: 2)
  }

  /// Moves the upper half to a new branch. Returns its first key.
  static func splitBranch(_ page: Draft, into right: Draft) -> UInt64 {
    guard let node = TreeNode(page.bytes) else { preconditionFailure("a branch is edited") }
    let half = node.count / 2
    let children = (0..<node.count).map { (node.branchKey($0), node.child($0)) }
    formatBranch(page, level: node.level, Array(children[..<half]))
    formatBranch(right, level: node.level, Array(children[half...]))
    return children[half].0
  }
}
