import Bytes
import Engine
import Format
import POSIX

/// The extended attributes of an inode: a list in a chain of pages, xattr(7).
///
/// A page is: next page 4, bytes used 4, then list bytes. The list is, for each attribute: length
/// of the name 1, length of the value 4, name, value.
enum ExtendedAttributes {
  struct Attribute {
    var name: [UInt8]
    var value: [UInt8]
  }

  private static let namespaces = ["user.", "security.", "trusted."].map { Array($0.utf8) }
  private static let trusted = Array("trusted.".utf8)

  /// Whether a name is one of those that ext4 has. The kernel asks nobody's permission for a name
  /// outside of the namespaces it knows (xattr_permission in fs/xattr.c), so there are none.
  static func isSupported(_ name: [UInt8]) -> Bool {
    if name == AccessControl.access || name == AccessControl.defaults { return true }
    return namespaces.contains { name.count > $0.count && name.starts(with: $0) }
  }

  /// Whether a name is shown to a caller: `trusted` ones are for the administrator, xattr(7).
  static func isShown(_ name: [UInt8], to caller: Caller) -> Bool {
    isSupported(name) && (caller.user == 0 || !name.starts(with: trusted))
  }

  /// EOPNOTSUPP for a name in none of the namespaces.
  static func check(_ name: [UInt8]) throws(EngineError) {
    guard isSupported(name) else { throw .posix(.notSupported) }
  }

  /// The most bytes an inode's list can take.
  static let maximumBytes = 128 << 10
  private static let header = 8
  private static let perPage = Layout.chunkSize - header

  static func all(
    of record: InodeRecord, in pages: some PageReader
  ) throws(EngineError) -> [Attribute] {
    var bytes: [UInt8] = []
    var number = record.attributePage
    while number != 0 {
      let page = try pages.read(PageID(.pages, number))
      let used = Int(page.load(UInt32.self, at: 4))
      // An empty page would let a circle of pages go on for ever.
      guard used > 0, used <= perPage, bytes.count + used <= maximumBytes else {
        throw .damaged("an attribute page")
      }
      bytes += page.load(header..<(header + used))
      number = page.load(UInt32.self, at: 0)
    }
    var reader = ByteReader(Buffer(bytes))
    var found: [Attribute] = []
    while reader.remaining > 0 {
      guard let length = reader.uint8(), let size = reader.uint32(),
        let name = reader.bytes(Int(length)), let value = reader.bytes(Int(size))
      else { throw .damaged("an attribute list") }
      found.append(Attribute(name: name, value: value))
    }
    return found
  }

  static func store(
    _ attributes: [Attribute], in record: inout InodeRecord, _ transaction: Transaction
  ) throws(EngineError) {
    try drop(&record, in: transaction)
    guard !attributes.isEmpty else { return }
    var writer = ByteWriter(capacity: 4096)
    for attribute in attributes {
      writer.integer(UInt8(attribute.name.count))
      writer.integer(UInt32(attribute.value.count))
      writer.bytes(attribute.name)
      writer.bytes(attribute.value)
    }
    guard writer.count <= maximumBytes else { throw .posix(.noSpace) }
    var next: UInt32 = 0
    let count = (writer.count + perPage - 1) / perPage
    for index in stride(from: count - 1, through: 0, by: -1) {
      let (number, page) = try transaction.allocatePage()
      let range = (index * perPage)..<min(writer.count, (index + 1) * perPage)
      page.store(next, at: 0)
      page.store(UInt32(range.count), at: 4)
      page.copy(from: writer.buffer, range, to: header)
      next = number
    }
    record.attributePage = next
  }

  static func drop(_ record: inout InodeRecord, in transaction: Transaction) throws(EngineError) {
    var number = record.attributePage
    while number != 0 {
      let next = try transaction.read(PageID(.pages, number)).load(UInt32.self, at: 0)
      try transaction.freePage(number)
      number = next
    }
    record.attributePage = 0
  }
}

extension Volume {
  /// getxattr(2): ENODATA if it is not there.
  package func getAttribute(
    _ name: [UInt8], of inode: InodeNumber
  ) throws(VolumeError) -> [UInt8] {
    try answer { () throws(EngineError) in
      try ExtendedAttributes.check(name)
      return try engine.read { (pages) throws(EngineError) in
        let record = try Inodes.record(of: inode.rawValue, in: pages)
        guard record.attributePage != 0,
          let found = try ExtendedAttributes.all(of: record, in: pages)
            .first(where: { $0.name == name })
        else { throw EngineError.posix(.noData) }
        return found.value
      }
    }
  }

  /// listxattr(2), as far as it is the caller's to see.
  package func listAttributes(
    of inode: InodeNumber, for caller: Caller
  ) throws(VolumeError) -> [[UInt8]] {
    try answer { () throws(EngineError) in
      try engine.read { (pages) throws(EngineError) in
        let record = try Inodes.record(of: inode.rawValue, in: pages)
        return try ExtendedAttributes.all(of: record, in: pages).map { $0.name }
          .filter { ExtendedAttributes.isShown($0, to: caller) }
      }
    }
  }

  package func setAttribute(
    _ name: [UInt8], to value: [UInt8], of inode: InodeNumber, _ mode: AttributeMode,
    by caller: Caller
  ) throws(VolumeError) {
    try answer { () throws(EngineError) in
      guard !name.isEmpty, name.count <= 255 else { throw EngineError.posix(.range) }
      try ExtendedAttributes.check(name)
      guard value.count <= 65536 else { throw EngineError.posix(.tooBig) }
      try engine.transact { (transaction) throws(EngineError) in
        try Inodes.change(inode.rawValue, in: transaction) { (record) throws(EngineError) in
          var all = try ExtendedAttributes.all(of: record, in: transaction)
          let index = all.firstIndex { $0.name == name }
          if mode == .create && index != nil { throw .posix(.exists) }
          if mode == .replace && index == nil { throw .posix(.noData) }
          let isDropped = try AccessControl.attributeChanged(
            name, to: value, &record, caller)
          if let index { all.remove(at: index) }
          if !isDropped {
            all.append(ExtendedAttributes.Attribute(name: name, value: value))
          }
          try ExtendedAttributes.store(all, in: &record, transaction)
          record.touch(contents: false)
        }
      }
    }
  }

  package func removeAttribute(
    _ name: [UInt8], of inode: InodeNumber
  ) throws(VolumeError) {
    try answer { () throws(EngineError) in
      try ExtendedAttributes.check(name)
      try engine.transact { (transaction) throws(EngineError) in
        try Inodes.change(inode.rawValue, in: transaction) { (record) throws(EngineError) in
          var all = try ExtendedAttributes.all(of: record, in: transaction)
          guard let index = all.firstIndex(where: { $0.name == name }) else {
            throw .posix(.noData)
          }
          all.remove(at: index)
          try ExtendedAttributes.store(all, in: &record, transaction)
          record.touch(contents: false)
        }
      }
    }
  }
}
