import Engine
import Format

/// One thing `verify` found wrong: where it is stored, and what of the user's it concerns.
package struct Damage: Hashable, Sendable {
  package enum Kind: String, Hashable, Sendable, CaseIterable {
    /// One copy of the configuration.
    case configuration
    /// One copy of the root.
    case root
    /// A segment of the journal.
    case journal
    /// One copy of a metadata page; nothing is lost.
    case copy
    /// Both copies of a metadata page.
    case page
    /// A chunk of a file.
    case chunk
    /// A name that stands for nothing, or for something else.
    case entry
    /// A link count, or the directory a directory says it is in.
    case links
    /// An inode in use that no name leads to.
    case nameless
    /// A map or a count of what is in use.
    case map
    /// A tree that authenticates and is not what it must be.
    case structure
  }

  package var kind: Kind
  /// Names of stored objects, such as `data/0003`.
  package var objects: [String] = []
  /// The slot within each of the objects: slot n is at byte n * 4096.
  package var slot: UInt32?
  /// What it is, as `file` or `directory`.
  package var noun: String?
  package var inode: UInt64?
  /// In the vault, without a slash in front; nil where no name leads to it.
  package var path: [UInt8]?
  /// Bytes of the file.
  package var range: Range<UInt64>?
  /// What there is to say besides; never a name of the user's.
  package var detail: String?
  package var isRepaired = false
  /// A name in the directory `inode`, for what has no inode of its own.
  var name: [UInt8]?

  package init(_ kind: Kind) { self.kind = kind }

  /// What it is about: the same for damage found at another time.
  package struct Key: Hashable, Sendable {
    let kind: Kind
    let objects: [String]
    let slot: UInt32?
    let inode: UInt64?
    let range: Range<UInt64>?
    let name: [UInt8]?
    let detail: String?
  }

  package var key: Key {
    Key(
      kind: kind, objects: objects, slot: slot, inode: inode, range: range, name: name,
      // Counts in the text change with every repair; what is meant does not.
      detail: objects.isEmpty ? nil : detail)
  }
}

extension Damage {
  /// A metadata page, of which some copies are bad.
  init(_ check: PageCheck) {
    self.init(check.isLost ? .page : .copy)
    objects = check.bad.map {
      Containers.name(of: check.slot, in: $0 == 0 ? "meta-a" : "meta-b")
    }
    slot = Containers.place(of: check.slot)
    isRepaired = check.isHealed
    detail = Self.describe(check.id) + (check.isLost ? "" : "; the other copy is good")
  }

  /// Chunks of a file in one container.
  init(chunks: Range<UInt64>, of inode: UInt64, at slot: UInt32) {
    self.init(.chunk)
    objects = [Containers.name(of: slot, in: "data")]
    self.slot = Containers.place(of: slot)
    noun = "file"
    self.inode = inode
    range = Self.bytes(chunks)
  }

  static func bytes(_ chunks: Range<UInt64>) -> Range<UInt64> {
    let size = UInt64(Layout.chunkSize)
    return (chunks.lowerBound * size)..<(chunks.upperBound * size)
  }

  /// What a page of the metadata is for.
  static func describe(_ id: PageID) -> String {
    let index = UInt64(id.index)
    guard id.level == 0 else { return "a table of references to \(id.file)" }
    switch id.file {
    case .inodes:
      let first = index * Layout.inodesPerPage
      return "the records of inodes \(first) to \(first + Layout.inodesPerPage - 1)"
    case .pages: return "page \(index) of names or references"
    case .dataMap, .metaMap: return "a map of free slots"
    case .pageMap, .inodeMap: return "a map of free numbers"
    case .system:
      return index == 0 ? "counts and the list of files without a name" : "a part of the audit log"
    case .lineage: return "the list of sessions"
    }
  }
}

/// What one run of `verify` looked at and found.
package struct ScrubReport: Sendable {
  package var damages: [Damage] = []
  /// Found and not listed: memory is bounded.
  package var omitted: UInt64 = 0
  package var files: UInt64 = 0
  package var directories: UInt64 = 0
  /// Symlinks, devices and the like.
  package var others: UInt64 = 0
  /// Chunks of files that were read and authenticated.
  package var chunks: UInt64 = 0
  /// Metadata pages and tables looked at, in both copies.
  package var pages: UInt64 = 0
  /// Whether names, counts and maps were compared with one another: not while somebody changes
  /// them.
  package var isCompared = false

  package static let listed = 100_000

  package init() {}
}

/// How far a check is, in stored bytes.
package struct ScrubProgress: Hashable, Sendable {
  package var done: UInt64 = 0
  package var total: UInt64 = 0

  package init() {}
}

/// What is to be checked.
package struct ScrubOptions: Sendable {
  /// Metadata only.
  package var isQuick = false
  /// Names from the root on, for a part of the tree; nil for everything.
  package var path: [[UInt8]]?
  /// Mends what can be mended; nobody else may use the volume meanwhile.
  package var repairs = false

  package init() {}
}
