import Bytes
import Engine
import Format
import POSIX

/// POSIX ACLs, acl(5), kept in the two attributes the kernel reads; the kernel enforces them.
///
/// The stored form is the kernel's: version 2 in 4 bytes, then tag 2, permissions 2, id 4 for each
/// entry.
package enum AccessControl {
  package static let access = Array("system.posix_acl_access".utf8)
  static let defaults = Array("system.posix_acl_default".utf8)

  private enum EntryTag {
    static let owner: UInt16 = 0x01
    static let group: UInt16 = 0x04
    static let mask: UInt16 = 0x10
    static let other: UInt16 = 0x20
  }

  struct Entry {
    var tag: UInt16
    var permissions: UInt16
    var id: UInt32
  }

  static func decode(_ value: [UInt8]) -> [Entry]? {
    var reader = ByteReader(Buffer(value))
    guard reader.uint32() == 2, reader.remaining % 8 == 0 else { return nil }
    var entries: [Entry] = []
    while reader.remaining > 0 {
      guard let tag = reader.uint16(), let permissions = reader.uint16(), permissions <= 7,
        let id = reader.uint32()
      else { return nil }
      entries.append(Entry(tag: tag, permissions: permissions, id: id))
    }
    return entries
  }

  static func encode(_ entries: [Entry]) -> [UInt8] {
    var writer = ByteWriter(capacity: 64)
    writer.integer(UInt32(2))
    for entry in entries {
      writer.integer(entry.tag)
      writer.integer(entry.permissions)
      writer.integer(entry.id)
    }
    return writer.buffer.load(0..<writer.count)
  }

  /// A new inode's permissions: the directory's default ACL if it has one, else the mask.
  static func inherit(
    _ record: inout InodeRecord, from directory: InodeRecord, mask: UInt32,
    in transaction: Transaction
  ) throws(EngineError) {
    guard !record.isSymlink else { return }
    guard directory.attributePage != 0,
      let value = try ExtendedAttributes.all(of: directory, in: transaction)
        .first(where: { $0.name == defaults })?.value,
      let entries = decode(value)
    else {
      record.mode &= ~(mask & 0o777)
      return
    }
    var own = entries
    limit(&own, &record.mode)
    var attributes: [ExtendedAttributes.Attribute] = []
    if own.contains(where: { $0.tag == EntryTag.mask }) {
      attributes.append(ExtendedAttributes.Attribute(name: access, value: encode(own)))
    }
    if record.isDirectory {
      attributes.append(ExtendedAttributes.Attribute(name: defaults, value: value))
    }
    try ExtendedAttributes.store(attributes, in: &record, transaction)
  }

  /// Cuts entries to the mode asked for and sets the mode to what is left, acl(5) "object
  /// creation".
  private static func limit(_ entries: inout [Entry], _ mode: inout UInt32) {
    let hasMask = entries.contains { $0.tag == EntryTag.mask }
    var bits: UInt32 = 0
    for index in entries.indices {
      let shift: UInt32
      switch entries[index].tag {
      case EntryTag.owner: shift = 6
      case EntryTag.mask: shift = 3
      case EntryTag.group where !hasMask: shift = 3
      case EntryTag.other: shift = 0
      default: continue
      }
      entries[index].permissions &= UInt16(mode >> shift & 7)
      bits |= UInt32(entries[index].permissions) << shift
    }
    mode = mode & ~0o777 | bits
  }

  /// chmod(2): the owner, mask (or group) and other entries follow the mode.
  static func modeChanged(
    _ record: inout InodeRecord, in transaction: Transaction
  ) throws(EngineError) {
    guard record.attributePage != 0 else { return }
    var all = try ExtendedAttributes.all(of: record, in: transaction)
    guard let index = all.firstIndex(where: { $0.name == access }),
      var entries = decode(all[index].value)
    else { return }
    let hasMask = entries.contains { $0.tag == EntryTag.mask }
    for entry in entries.indices {
      switch entries[entry].tag {
      case EntryTag.owner: entries[entry].permissions = UInt16(record.mode >> 6 & 7)
      case EntryTag.mask: entries[entry].permissions = UInt16(record.mode >> 3 & 7)
      case EntryTag.group where !hasMask:
        entries[entry].permissions = UInt16(record.mode >> 3 & 7)
      case EntryTag.other: entries[entry].permissions = UInt16(record.mode & 7)
      default: break
      }
    }
    all[index].value = encode(entries)
    try ExtendedAttributes.store(all, in: &record, transaction)
  }

  /// setxattr(2) of an ACL: the mode follows. Returns true if the mode says it all and nothing is
  /// stored.
  static func attributeChanged(
    _ name: [UInt8], to value: [UInt8], _ record: inout InodeRecord, _ caller: Caller
  ) throws(EngineError) -> Bool {
    if name == defaults {
      guard record.isDirectory else { throw .posix(.accessDenied) }
      return false
    }
    guard name == access else { return false }
    guard let entries = decode(value) else { throw .posix(.invalid) }
    let hasMask = entries.contains { $0.tag == EntryTag.mask }
    var bits: UInt32 = 0
    for entry in entries {
      switch entry.tag {
      case EntryTag.owner: bits |= UInt32(entry.permissions) << 6
      case EntryTag.mask: bits |= UInt32(entry.permissions) << 3
      case EntryTag.group where !hasMask: bits |= UInt32(entry.permissions) << 3
      case EntryTag.other: bits |= UInt32(entry.permissions)
      default: break
      }
    }
    record.mode = record.mode & ~0o777 | bits
    if caller.user != 0 && caller.group != record.group { record.mode &= ~FileMode.setGroup }
    return entries.count == 3
  }
}
