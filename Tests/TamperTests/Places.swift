import Bytes
import Crypto
import Format
import POSIX
import TestKit

@testable import Engine
@testable import Volume

/// Where in the files of a store each stored thing lies, told by the engine itself.
struct Places: Sendable {
  enum Kind: String, CaseIterable, Sendable {
    case inodeTable, directory, chunkTable, pointerPage, attributePage, symlinkPage
    /// Maps, system page, lineage and the tables of the metadata's own tag trees.
    case map, system, lineage, tagTable
    case chunk, root, frame
  }

  /// Bytes of an object that are one thing. A metadata page is also in the twin.
  struct Place: Sendable {
    let kind: Kind
    let object: String
    let range: Range<Int>
    let name: String
    /// Of a chunk, the file's path.
    var file = ""
    /// Whether the tree can be read without it.
    var isSeen = true

    var twin: String? {
      object.hasPrefix("meta-a/") ? "meta-b/" + object.dropFirst("meta-a/".count) : nil
    }
  }

  private(set) var all: [Place] = []

  subscript(_ kind: Kind) -> [Place] { all.filter { $0.kind == kind } }

  /// Of a store that was closed properly, so that the root names everything.
  init(_ volume: Volume, _ tree: Tree) throws {
    let store = volume.engine.store
    let roles = try Self.roles(volume, tree)
    for file in MetadataFile.allCases {
      for id in try Self.pages(of: file, in: store) {
        let reference = try store.tree.withRead { () throws(EngineError) in
          try store.reference(of: id)
        }
        let kind = roles[id] ?? Self.kind(id)
        let isSeen = id.level > 0 ? file.isSeen : roles[id] != nil
        add(kind, slot: reference.slot, in: "meta-a", "\(file) \(id.level).\(id.index)", isSeen)
      }
    }
    for entry in tree.entries where entry.type == FileMode.regular {
      for (chunk, reference) in try Self.chunks(of: entry, volume) {
        add(.chunk, slot: reference.slot, in: "data", "\(entry.path) chunk \(chunk)", true)
        all[all.count - 1].file = entry.path
      }
    }
    for name in RootFiles.names {
      all.append(Place(kind: .root, object: name, range: 0..<Layout.rootSize, name: name))
    }
  }

  private mutating func add(
    _ kind: Kind, slot: UInt32, in folder: String, _ name: String, _ isSeen: Bool
  ) {
    let start = Int(slot % Layout.slotsPerContainer) * Layout.chunkSize
    all.append(
      Place(
        kind: kind, object: Containers.name(of: slot, in: folder),
        range: start..<(start + Layout.chunkSize), name: name, isSeen: isSeen))
  }

  private static func kind(_ id: PageID) -> Kind {
    if id.level > 0 { return .tagTable }
    switch id.file {
    case .inodes: return .inodeTable
    case .system: return .system
    case .lineage: return .lineage
    // A page that no inode of the tree leads to belongs to the orphan list.
    case .pages: return .system
    default: return .map
    }
  }

  /// Every page and table that is stored, tables first.
  private static func pages(
    of file: MetadataFile, in store: PageStore
  ) throws -> [PageID] {
    let height = store.tree.withRead { store.tops[Int(file.rawValue)].height }
    var level = (0..<UInt32(Layout.topReferences)).map { PageID(file, $0, level: height) }
    var found: [PageID] = []
    while true {
      level = try level.filter { id in
        try store.tree.withRead { () throws(EngineError) in !(try store.reference(of: id).isHole) }
      }
      found += level
      guard let first = level.first, first.level > 0 else { return found }
      level = level.flatMap { table in
        (0..<128).map { PageID(file, table.index * 128 + $0, level: table.level - 1) }
      }
    }
  }

  /// What the pages that the inodes of a tree are in, and those below them, are for.
  private static func roles(_ volume: Volume, _ tree: Tree) throws -> [PageID: Kind] {
    var roles: [PageID: Kind] = [:]
    try volume.engine.read { (pages) throws(EngineError) in
      for entry in tree.entries {
        roles[Inodes.page(of: entry.inode.rawValue)] = .inodeTable
        let record = try Inodes.record(of: entry.inode.rawValue, in: pages)
        var number = record.attributePage
        while number != 0 {
          roles[PageID(.pages, number)] = .attributePage
          number = try pages.read(PageID(.pages, number)).load(UInt32.self, at: 0)
        }
        guard record.top != 0 else { continue }
        switch entry.type {
        case FileMode.symlink: roles[PageID(.pages, record.top)] = .symlinkPage
        case FileMode.directory: try nodes(record.top, pages, &roles)
        default: try tables(record.top, record.height, pages, &roles)
        }
      }
    }
    return roles
  }

  private static func nodes(
    _ page: UInt32, _ pages: CommittedPages, _ roles: inout [PageID: Kind]
  ) throws(EngineError) {
    roles[PageID(.pages, page)] = .directory
    let node = try PageTree.node(page, in: pages)
    guard node.level > 0 else { return }
    for index in 0..<node.count { try nodes(node.child(index), pages, &roles) }
  }

  private static func tables(
    _ page: UInt32, _ height: UInt8, _ pages: CommittedPages, _ roles: inout [PageID: Kind]
  ) throws(EngineError) {
    roles[PageID(.pages, page)] = height == 1 ? .chunkTable : .pointerPage
    guard height > 1 else { return }
    let bytes = try pages.read(PageID(.pages, page))
    for index in 0..<Int(Layout.pointersPerPage) {
      let child = bytes.load(UInt32.self, at: index * 4)
      if child != 0 { try tables(child, height - 1, pages, &roles) }
    }
  }

  static func chunks(
    of entry: Tree.Entry, _ volume: Volume
  ) throws -> [(UInt64, Reference)] {
    try volume.engine.read { (pages) throws(EngineError) in
      let record = try Inodes.record(of: entry.inode.rawValue, in: pages)
      var found: [(UInt64, Reference)] = []
      var next: UInt64 = 0
      while let chunk = try ChunkTree.firstStored(of: record, from: next, in: pages) {
        let range = chunk..<(chunk + 1)
        found.append((chunk, try ChunkTree.references(of: record, range, in: pages)[0]))
        next = chunk + 1
      }
      return found
    }
  }
}

extension MetadataFile {
  /// Whether reading files and names needs it.
  fileprivate var isSeen: Bool { self == .inodes || self == .pages }
}
