import Crypto
import Engine
import Format
import POSIX

/// Names in directories: a `PageTree` from a keyed hash of the name to inode, type and name.
///
/// The upper 55 bits of a key are hash, the lower 8 tell names of the same hash apart; a key is
/// also the readdir cookie, so it is stable while entries come and go.
struct Directories: Sendable {
  struct Entry {
    let inode: UInt64
    /// `S_IFMT` bits.
    let type: UInt32
    let name: [UInt8]

    init(inode: UInt64, type: UInt32, name: [UInt8]) {
      self.inode = inode
      self.type = type
      self.name = name
    }

    /// Inode 8, type 1 (mode shifted by 12), name.
    init?(_ value: [UInt8]) {
      guard value.count >= 10, value.count <= 9 + 255, !value[9...].contains(0),
        !value[9...].contains(0x2f), value[9...] != [0x2e], value[9...] != [0x2e, 0x2e]
      else { return nil }
      var inode: UInt64 = 0
      for index in 0..<8 { inode |= UInt64(value[index]) << UInt64(8 * index) }
      self.inode = inode
      type = UInt32(value[8]) << 12
      name = Array(value[9...])
    }

    var value: [UInt8] {
      (0..<8).map { UInt8(truncatingIfNeeded: inode >> UInt64(8 * $0)) }
        + [UInt8(type >> 12)] + name
    }
  }

  private static let ordinalMask: UInt64 = 0xff
  let hash: KeyedHash

  /// The lowest key a name can have.
  private func base(_ name: [UInt8]) -> UInt64 {
    let key = hash.hash(name) >> 1 & ~Self.ordinalMask
    return key == 0 ? Self.ordinalMask + 1 : key  // cookies 0 to 255 are not names
  }

  /// Whether a name is looked for at a key.
  func isPlace(_ key: UInt64, of name: [UInt8]) -> Bool {
    let first = base(name)
    return first...(first | Self.ordinalMask) ~= key
  }

  func find(
    _ name: [UInt8], root: UInt32, in pages: some PageReader
  ) throws(EngineError) -> (key: UInt64, entry: Entry)? {
    let first = base(name)
    var found: (UInt64, Entry)?
    try PageTree.scan(from: first, root: root, in: pages) {
      (key, node, index) throws(EngineError) in
      guard key <= first | Self.ordinalMask else { return false }
      guard let entry = Entry(try node.value(index)) else { throw .damaged("a directory entry") }
      if entry.name == name {
        found = (key, entry)
        return false
      }
      return true
    }
    return found
  }

  /// Adds a name that is not there.
  func insert(
    _ entry: Entry, root: inout UInt32, in transaction: Transaction
  ) throws(EngineError) {
    let first = base(entry.name)
    var free = first
    try PageTree.scan(from: first, root: root, in: transaction) {
      (key, _, _) throws(EngineError) in
      guard key == free else { return false }
      free += 1
      return true
    }
    guard free <= first | Self.ordinalMask else { throw .posix(.noSpace) }
    try PageTree.insert(free, entry.value, root: &root, in: transaction)
  }

  func remove(
    _ name: [UInt8], root: inout UInt32, in transaction: Transaction
  ) throws(EngineError) {
    guard let found = try find(name, root: root, in: transaction),
      try PageTree.remove(found.key, root: &root, in: transaction)
    else { throw .posix(.noSuchFile) }
  }
}
