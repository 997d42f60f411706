/// The sizes every part of the format agrees on. docs/FORMAT.md explains them.
package enum Layout {
  /// The format this program reads and writes.
  package static let version: UInt32 = 1
  /// Bytes of a chunk, of a slot and of a metadata page.
  package static let chunkSize = 4096
  /// Bytes of a chunk reference: slot 4, IV 12, tag 16.
  package static let referenceSize = 32
  /// References in one table, 4096 / 32.
  package static let referencesPerTable = 128
  /// References a metadata file keeps in the root.
  package static let topReferences = 16
  /// Slots of one container file: 256 MiB.
  package static let slotsPerContainer: UInt32 = 65536
  /// Bytes of an inode record, and how many fill a page.
  package static let inodeSize = 256
  package static let inodesPerPage: UInt64 = 16
  /// Chunk references kept in the inode itself.
  package static let directReferences: UInt64 = 3
  /// Page numbers in one pointer page, 4096 / 4.
  package static let pointersPerPage: UInt64 = 1024
  /// Bits of one bitmap page.
  package static let bitsPerPage: UInt64 = 32768
  /// The largest file: 8 TiB.
  package static let maximumFileSize: UInt64 = 8 << 40
  /// The longest symlink target, in bytes.
  package static let maximumTarget = 4095
  /// Bytes of each root file: IV 12, ciphertext, tag 16.
  package static let rootSize = 8192
  /// Journal frames start at multiples of this many bytes.
  package static let frameAlignment = 512
}

/// The metadata files: arrays of sealed pages, each with a tag tree whose top is in the root.
package enum MetadataFile: UInt8, CaseIterable, Sendable {
  /// Inode records, 16 a page.
  case inodes = 0
  /// Directory nodes, chunk tables, pointer pages, attribute and target pages.
  case pages = 1
  /// One bit a data slot: taken.
  case dataMap = 2
  /// One bit a metadata slot: taken. Changed by checkpoints alone.
  case metaMap = 3
  /// One bit a page of `pages`: in use.
  case pageMap = 4
  /// One bit an inode number: in use.
  case inodeMap = 5
  /// Page 0: counters, the orphan list and where the audit log is; then the log's pages.
  case system = 6
  /// The writing sessions, 32 bytes each.
  case lineage = 7
}

/// Where a chunk is, and what proves that it is the right one.
package struct Reference: Hashable, Sendable {
  package var slot: UInt32
  package var ivLow: UInt32
  package var ivHigh: UInt64
  package var tagLow: UInt64
  package var tagHigh: UInt64

  package init(slot: UInt32, ivHigh: UInt64, ivLow: UInt32, tagLow: UInt64, tagHigh: UInt64) {
    self.slot = slot
    self.ivHigh = ivHigh
    self.ivLow = ivLow
    self.tagLow = tagLow
    self.tagHigh = tagHigh
  }

  /// No chunk: an authenticated run of zeros.
  package static let hole = Reference(slot: 0, ivHigh: 0, ivLow: 0, tagLow: 0, tagHigh: 0)

  /// Slot 0 is never given out, so a reference to it is a hole.
  package var isHole: Bool { slot == 0 }
}
