import Bytes
package import Engine
import Format

/// A B+tree of pages from a 64-bit key to a few hundred bytes: directories, the orphan list.
///
/// The tree's owner keeps its root page number; 0 is the empty tree. An insert or remove touches
/// one leaf and, when that splits or empties, its parents.
package enum PageTree {
  /// The largest value, in bytes: an inode number, a type and a name.
  package static let maximumValue = 264

  /// The value of a key.
  package static func value(
    of key: UInt64, root: UInt32, in pages: some PageReader
  ) throws(EngineError) -> [UInt8]? {
    guard root != 0 else { return nil }
    let node = try leaf(for: key, root: root, in: pages).node
    let index = try node.lowerBound(key)
    guard index < node.count, try node.key(index) == key else { return nil }
    return try node.value(index)
  }

  /// Calls `body` for each key not below `first`, in order, until it returns false.
  package static func scan(
    from first: UInt64, root: UInt32, in pages: some PageReader,
    _ body: (UInt64, TreeNode, Int) throws(EngineError) -> Bool
  ) throws(EngineError) {
    guard root != 0 else { return }
    var next: UInt64? = first
    while let key = next {
      let (node, following) = try leaf(for: key, root: root, in: pages)
      for index in try node.lowerBound(key)..<node.count {
        if try !body(try node.key(index), node, index) { return }
      }
      if let following, following <= key { throw .damaged("the order of a tree") }
      next = following
    }
  }

  /// Adds a key that is not there.
  package static func insert(
    _ key: UInt64, _ value: [UInt8], root: inout UInt32, in transaction: Transaction
  ) throws(EngineError) {
    precondition(value.count <= maximumValue)
    if root == 0 {
      let (number, page) = try transaction.allocatePage()
      TreeNode.formatLeaf(page)
      root = number
    }
    if let split = try insert(key, value, at: root, below: nil, in: transaction) {
      let (number, page) = try transaction.allocatePage()
      let level = try node(root, in: transaction).level + 1
      TreeNode.formatBranch(page, level: level, [(0, root), (split.key, split.page)])
      root = number
    }
  }

  /// Removes a key; false if it is not there.
  package static func remove(
    _ key: UInt64, root: inout UInt32, in transaction: Transaction
  ) throws(EngineError) -> Bool {
    guard root != 0 else { return false }
    var path: [(page: UInt32, position: Int)] = []
    var current = root
    var node = try node(current, in: transaction)
    try node.check()
    while node.level > 0 {
      let position = node.childPosition(of: key)
      path.append((current, position))
      current = node.child(position)
      node = try child(current, below: node, in: transaction)
      try node.check()
    }
    let index = try node.lowerBound(key)
    guard index < node.count, try node.key(index) == key else { return false }
    try TreeNode.remove(index, from: try transaction.edit(PageID(.pages, current)))
    try shrink(current, path, root: &root, in: transaction)
    return true
  }

  /// What there is at the place of a leaf.
  struct Place {
    /// Nil if it cannot be read or is no node.
    let node: TreeNode?
    let page: UInt32
    /// The first key behind it.
    let following: UInt64?
  }

  /// The leaf a key belongs to, or what is damaged on the way there. `visit` hears of every page.
  static func place(
    of key: UInt64, root: UInt32, in pages: some PageReader, _ visit: (UInt32) -> Void
  ) -> Place? {
    guard root != 0 else { return nil }
    var page = root
    var following: UInt64?
    var level: UInt8?
    while true {
      visit(page)
      guard let bytes = try? pages.read(PageID(.pages, page)), let node = TreeNode(bytes),
        node.isSound, level == nil || level == node.level
      else { return Place(node: nil, page: page, following: following) }
      if node.level == 0 { return Place(node: node, page: page, following: following) }
      guard node.count > 0 else { return Place(node: nil, page: page, following: following) }
      let position = node.childPosition(of: key)
      if position + 1 < node.count { following = node.branchKey(position + 1) }
      page = node.child(position)
      level = node.level - 1
    }
  }

  /// Takes out of a tree what cannot be read, so that the rest of it can be used again. Pages that
  /// were named by what is taken out are left to the map of free pages.
  static func prune(_ root: inout UInt32, in transaction: Transaction) throws(EngineError) {
    guard root != 0 else { return }
    if try prune(root, level: nil, in: transaction) {
      try transaction.freePage(root)
      root = 0
    }
  }

  /// Returns whether nothing is left of a page.
  private static func prune(
    _ page: UInt32, level: UInt8?, in transaction: Transaction
  ) throws(EngineError) -> Bool {
    let bytes: Buffer
    do throws(EngineError) { bytes = try transaction.read(PageID(.pages, page)) } catch {
      // What a disk or a lack of memory keeps back now may be there in a second.
      guard case .damaged = error else { throw error }
      return true
    }
    guard let node = TreeNode(bytes), node.isSound, level == nil || level == node.level else {
      return true
    }
    if node.level == 0 { return node.count == 0 }
    for position in stride(from: node.count - 1, through: 0, by: -1) {
      let child = node.child(position)
      guard try prune(child, level: node.level - 1, in: transaction) else { continue }
      try transaction.freePage(child)
      TreeNode.removeChild(position, from: try transaction.edit(PageID(.pages, page)))
    }
    return try transaction.read(PageID(.pages, page)).load(UInt16.self, at: 2) == 0
  }

  // MARK: - Parts

  static func node(
    _ page: UInt32, in pages: some PageReader
  ) throws(EngineError) -> TreeNode {
    guard let node = TreeNode(try pages.read(PageID(.pages, page))) else {
      throw .damaged("page \(page) is no tree node")
    }
    return node
  }

  private static func child(
    _ page: UInt32, below parent: TreeNode, in pages: some PageReader
  ) throws(EngineError) -> TreeNode {
    let child = try node(page, in: pages)
    guard child.level + 1 == parent.level else { throw .damaged("page \(page) is misplaced") }
    return child
  }

  /// The leaf a key belongs to, and the first key of the leaf after it.
  private static func leaf(
    for key: UInt64, root: UInt32, in pages: some PageReader
  ) throws(EngineError) -> (node: TreeNode, following: UInt64?) {
    var node = try node(root, in: pages)
    var following: UInt64?
    while node.level > 0 {
      let position = node.childPosition(of: key)
      if position + 1 < node.count { following = node.branchKey(position + 1) }
      node = try child(node.child(position), below: node, in: pages)
    }
    return (node, following)
  }

  private static func insert(
    _ key: UInt64, _ value: [UInt8], at page: UInt32, below parent: TreeNode?,
    in transaction: Transaction
  ) throws(EngineError) -> (key: UInt64, page: UInt32)? {
    let node =
      if let parent { try child(page, below: parent, in: transaction) } else {
        try node(page, in: transaction)
      }
    try node.check()
    if node.level == 0 {
      let draft = try transaction.edit(PageID(.pages, page))
      if try TreeNode.insert(key, value, into: draft) { return nil }
      let (number, right) = try transaction.allocatePage()
      let separator = try TreeNode.splitLeaf(draft, into: right)
      let target = key < separator ? draft : right
      let fits = try TreeNode.insert(key, value, into: target)
      precondition(fits, "half a leaf has room")
      return (separator, number)
    }
    let position = node.childPosition(of: key)
    guard
      let split = try insert(
        key, value, at: node.child(position), below: node, in: transaction)
    else { return nil }
    let draft = try transaction.edit(PageID(.pages, page))
    if TreeNode.insertChild(split.key, split.page, at: position + 1, into: draft) { return nil }
    let (number, right) = try transaction.allocatePage()
    let separator = TreeNode.splitBranch(draft, into: right)
    let half = draft.bytes.load(UInt16.self, at: 2)
    let fits =
      position + 1 <= Int(half)
      ? TreeNode.insertChild(split.key, split.page, at: position + 1, into: draft)
      : TreeNode.insertChild(split.key, split.page, at: position + 1 - Int(half), into: right)
    precondition(fits, "half a branch has room")
    return (separator, number)
  }

  /// After a removal: gives an empty node up, joins a small leaf with its right neighbour.
  private static func shrink(
    _ page: UInt32, _ path: [(page: UInt32, position: Int)], root: inout UInt32,
    in transaction: Transaction
  ) throws(EngineError) {
    let current = try node(page, in: transaction)
    guard let parent = path.last else {
      if current.count == 0 {
        try transaction.freePage(page)
        root = 0
      } else if current.level > 0 && current.count == 1 {
        root = current.child(0)
        try transaction.freePage(page)
        try shrink(root, [], root: &root, in: transaction)
      }
      return
    }
    if current.count == 0 {
      try transaction.freePage(page)
      TreeNode.removeChild(
        parent.position, from: try transaction.edit(PageID(.pages, parent.page)))
    } else if current.level == 0, try joinRight(page, current, parent, in: transaction) {
      TreeNode.removeChild(
        parent.position + 1, from: try transaction.edit(PageID(.pages, parent.page)))
    } else {
      return
    }
    try shrink(parent.page, Array(path.dropLast()), root: &root, in: transaction)
  }

  private static func joinRight(
    _ page: UInt32, _ current: TreeNode, _ parent: (page: UInt32, position: Int),
    in transaction: Transaction
  ) throws(EngineError) -> Bool {
    guard current.liveBytes < 1024 else { return false }
    let above = try node(parent.page, in: transaction)
    guard parent.position + 1 < above.count else { return false }
    let rightPage = above.child(parent.position + 1)
    let right = try child(rightPage, below: above, in: transaction)
    try right.check()
    try current.check()
    guard current.liveBytes + right.liveBytes < 3072 else { return false }
    let draft = try transaction.edit(PageID(.pages, page))
    for index in 0..<right.count {
      let fits = try TreeNode.insert(try right.key(index), try right.value(index), into: draft)
      precondition(fits, "the sum was checked")
    }
    try transaction.freePage(rightPage)
    return true
  }
}
