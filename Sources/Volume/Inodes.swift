import Bytes
import Engine
import Format
import POSIX

/// Inode records in their table.
enum Inodes {
  static func page(of inode: UInt64) -> PageID {
    PageID(.inodes, UInt32(inode / Layout.inodesPerPage))
  }

  static func offset(of inode: UInt64) -> Int {
    Int(inode % Layout.inodesPerPage) * Layout.inodeSize
  }

  /// The record of an inode in use; ESTALE if it is not.
  static func record(
    of inode: UInt64, in pages: some PageReader
  ) throws(EngineError) -> InodeRecord {
    guard inode > 0, inode / Layout.inodesPerPage <= UInt64(UInt32.max) else {
      throw .posix(.stale)
    }
    let record = InodeRecord(from: try pages.read(page(of: inode)), at: offset(of: inode))
    guard record.mode != 0 else { throw .posix(.stale) }
    guard record.isSound else { throw .damaged("inode \(inode)") }
    return record
  }

  static func store(
    _ record: InodeRecord, as inode: UInt64, in transaction: Transaction
  ) throws(EngineError) {
    try transaction.edit(page(of: inode)).store(record, at: offset(of: inode))
  }

  /// Reads, changes and writes back a record.
  static func change(
    _ inode: UInt64, in transaction: Transaction,
    _ body: (inout InodeRecord) throws(EngineError) -> Void
  ) throws(EngineError) {
    var record = try record(of: inode, in: transaction)
    try body(&record)
    try store(record, as: inode, in: transaction)
  }

  /// A new inode with a fresh number, generation and seed.
  static func make(
    _ record: InodeRecord, in transaction: Transaction
  ) throws(EngineError) -> UInt64 {
    let number = try transaction.allocateInode()
    let old = InodeRecord(
      from: try transaction.read(page(of: number)), at: offset(of: number))
    guard old.mode == 0 else { throw .damaged("inode \(number) is free and in use") }
    var record = record
    record.generation = old.generation &+ 1
    try store(record, as: number, in: transaction)
    return number
  }

  /// Forgets everything of an inode but its generation; its key dies with it.
  static func free(_ inode: UInt64, in transaction: Transaction) throws(EngineError) {
    let old = try record(of: inode, in: transaction)
    var empty = InodeRecord()
    empty.generation = old.generation
    try store(empty, as: inode, in: transaction)
    try transaction.freeInode(inode)
  }
}

/// The list of inodes without a name, which a mount after a crash goes through.
enum Orphans {
  static func add(_ inode: UInt64, in transaction: Transaction) throws(EngineError) {
    let system = try transaction.edit(PageID(.system, 0))
    var root = system.bytes.load(UInt32.self, at: SystemPage.orphans)
    let before = root
    guard try PageTree.value(of: inode, root: root, in: transaction) == nil else { return }
    try PageTree.insert(inode, [], root: &root, in: transaction)
    if root != before { system.store(root, at: SystemPage.orphans) }
  }

  static func remove(_ inode: UInt64, in transaction: Transaction) throws(EngineError) {
    let system = try transaction.edit(PageID(.system, 0))
    var root = system.bytes.load(UInt32.self, at: SystemPage.orphans)
    let before = root
    guard try PageTree.remove(inode, root: &root, in: transaction) else { return }
    if root != before { system.store(root, at: SystemPage.orphans) }
  }

  static func first(
    _ limit: Int, after inode: UInt64, in pages: some PageReader
  ) throws(EngineError) -> [UInt64] {
    let root = try pages.read(PageID(.system, 0)).load(UInt32.self, at: SystemPage.orphans)
    var found: [UInt64] = []
    guard inode < .max else { return [] }
    try PageTree.scan(from: inode + 1, root: root, in: pages) {
      (key, _, _) throws(EngineError) in
      found.append(key)
      return found.count < limit
    }
    return found
  }
}

extension InodeRecord {
  var type: UInt32 { mode & FileMode.typeMask }
  var isDirectory: Bool { type == FileMode.directory }
  var isRegular: Bool { type == FileMode.regular }
  var isSymlink: Bool { type == FileMode.symlink }

  /// Whether the numbers are such as Coffre writes. Others, though authentic, would overflow where
  /// they are used.
  var isSound: Bool {
    let times = max(
      accessed.nanoseconds, modified.nanoseconds, changed.nanoseconds, born.nanoseconds)
    guard times < 1_000_000_000, links < 1 << 31, chunks < 1 << 40, seals < 1 << 62,
      height <= 4, top == 0 || height > 0 || !isRegular
    else { return false }
    return switch type {
    case FileMode.regular: size <= Layout.maximumFileSize
    case FileMode.symlink: size <= UInt64(top == 0 ? tail.count : Layout.maximumTarget)
    case FileMode.directory: size < 1 << 40
    case FileMode.fifo, FileMode.character, FileMode.block, FileMode.socket: true
    default: false
    }
  }

  /// Sets the time of the last change, and that of the contents too where they changed.
  mutating func touch(contents: Bool) {
    let now = Clock.realtime
    changed = now
    if contents { modified = now }
  }
}

/// `st_mode` bits, inode(7).
package enum FileMode {
  package static let typeMask: UInt32 = 0o170000
  package static let fifo: UInt32 = 0o010000
  package static let character: UInt32 = 0o020000
  package static let directory: UInt32 = 0o040000
  package static let block: UInt32 = 0o060000
  package static let regular: UInt32 = 0o100000
  package static let symlink: UInt32 = 0o120000
  package static let socket: UInt32 = 0o140000
  package static let setUser: UInt32 = 0o4000
  package static let setGroup: UInt32 = 0o2000
  package static let groupExecute: UInt32 = 0o010
  package static let permissionMask: UInt32 = 0o7777
}
