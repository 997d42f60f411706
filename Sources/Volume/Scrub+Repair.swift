import Bytes
import Crypto
import Engine
import Format
import POSIX

/// Something that can be mended. Nothing is ever deleted by it.
enum Repair: Hashable {
  /// A map is written anew from what is in use.
  case map(MetadataFile)
  /// The counts of what is in use.
  case system
  /// What cannot be read of a directory's names is given up.
  case prune(UInt64)
  /// An inode without a name gets one in lost+found.
  case adopt(UInt64)
  case links(UInt64, UInt32)
  case counts(UInt64, names: UInt64, links: UInt32)
  case parent(UInt64, UInt64)
  /// The rest of a truncation goes on the list of what is to be released.
  case list(UInt64)
  /// What cannot be read of the audit log is given up, and the log says so.
  case audit(UInt32)

  /// Maps come first: what follows takes pages by them.
  var rank: Int {
    switch self {
    case .map: 0
    case .system: 1
    case .prune: 2
    case .adopt: 4
    case .links, .counts, .parent, .list, .audit: 3
    }
  }
}

extension Scrub {
  /// Mends what it can. What fails is found again by the next check.
  func repairAll() {
    var done: Set<Repair> = []
    for repair in repairs.sorted(by: { $0.rank < $1.rank }) where done.insert(repair).inserted {
      try? mend(repair)
    }
    engine.forgetMaps()
    try? engine.checkpoint()
  }

  private func mend(_ repair: Repair) throws(EngineError) {
    switch repair {
    case .map(let file): try rewrite(file)
    case .system: try recount()
    case .prune(let number): try prune(number)
    case .adopt(let number): try adopt(number)
    case .links(let number, let links): try change(number) { $0.links = links }
    case .counts(let number, let names, let links):
      try change(number) { record in
        record.size = names
        record.links = links
      }
    case .parent(let number, let parent): try change(number) { $0.parent = parent }
    case .list(let number):
      try engine.transact { (transaction) throws(EngineError) in
        try Orphans.add(number, in: transaction)
      }
    case .audit(let page):
      try engine.transact(frees: true) { (transaction) throws(EngineError) in
        guard (try? transaction.read(PageID(.system, page))) == nil else { return }
        try AuditLog.giveUp(page, in: transaction)
      }
    }
  }

  private func change(
    _ number: UInt64, _ body: (inout InodeRecord) -> Void
  ) throws(EngineError) {
    try engine.transact(frees: true) { (transaction) throws(EngineError) in
      try Inodes.change(number, in: transaction) { (record) throws(EngineError) in body(&record) }
    }
  }

  // MARK: - Maps

  /// A map as what is in use says. Where something is lost it only gains: the lost piece may name
  /// what seems to be free.
  func rewrite(_ file: MetadataFile) throws(EngineError) {
    let used: SparseBits
    switch file {
    case .dataMap: used = slots
    case .metaMap: used = metaSlots
    case .pageMap: used = pages
    case .inodeMap: used = inodes
    default: return
    }
    var indexes = Set(used.blockIndexes)
    engine.forEachPage(of: file) { index in
      indexes.insert(index)
      return true
    }
    for index in indexes.sorted() {
      try rewrite(PageID(file, UInt32(truncatingIfNeeded: index)), used.block(index))
    }
    engine.forgetMaps()
  }

  private func rewrite(_ id: PageID, _ block: [UInt64]?) throws(EngineError) {
    try engine.transact(frees: true) { (transaction) throws(EngineError) in
      // A checkpoint, for room say, has moved pages since: their new slots would become free.
      guard id.file != .metaMap || engine.generation == metaMapGeneration else { return }
      let old = try? transaction.read(id)
      let isOnlyMap = lost.keys.allSatisfy { $0.file != .pages && $0.file != .inodes }
      let draft = old == nil ? try transaction.fresh(id) : try transaction.edit(id)
      for place in 0..<SparseBits.blockWords {
        let wanted = block?[place] ?? 0
        // A lost map where more is lost: everything counts as taken.
        let before = old?.load(UInt64.self, at: place * 8) ?? (isOnlyMap ? 0 : UInt64.max)
        let word = isOnlyMap ? wanted : before | wanted
        if old == nil || word != before { draft.store(word, at: place * 8) }
      }
    }
  }

  private func recount() throws(EngineError) {
    try engine.transact(frees: true) { (transaction) throws(EngineError) in
      let system = try transaction.edit(PageID(.system, 0))
      system.store(slots.count, at: SystemPage.usedSlots)
      system.store(inodes.count, at: SystemPage.usedInodes)
      system.store(pages.count, at: SystemPage.usedPages)
    }
  }

  // MARK: - Names

  private func prune(_ number: UInt64) throws(EngineError) {
    try engine.transact(frees: true) { (transaction) throws(EngineError) in
      try Inodes.change(number, in: transaction) { (record) throws(EngineError) in
        guard record.isDirectory else { return }
        try PageTree.prune(&record.top, in: transaction)
        var count: UInt64 = 0
        var directories: UInt32 = 0
        try PageTree.scan(from: 0, root: record.top, in: transaction) {
          (_, node, index) throws(EngineError) in
          count += 1
          let entry = Directories.Entry(try node.value(index))
          if entry?.type == FileMode.directory { directories += 1 }
          return true
        }
        record.size = count
        record.links = 2 + directories
      }
    }
  }

  /// Gives an inode a name in lost+found: `#` and its number.
  private func adopt(_ number: UInt64) throws(EngineError) {
    try engine.transact(frees: true) { (transaction) throws(EngineError) in
      let folder = try lostAndFound(in: transaction)
      var directory = try volume.directory(folder, in: transaction)
      var record = try Inodes.record(of: number, in: transaction)
      var name = Array("#\(number)".utf8)
      while try volume.directories.find(name, root: directory.top, in: transaction) != nil {
        name += [0x2b]
        guard name.count < 64 else { throw .posix(.exists) }
      }
      record.flags.remove(.orphan)
      if record.isDirectory { record.parent = folder } else { record.links = 1 }
      try Inodes.store(record, as: number, in: transaction)
      if !record.flags.contains(.trimming) { try Orphans.remove(number, in: transaction) }
      try volume.add(
        Directories.Entry(inode: number, type: record.type, name: name), to: &directory, folder,
        in: transaction)
    }
  }

  /// The directory for what has lost its name, in the root; made if it is not there.
  private func lostAndFound(in transaction: Transaction) throws(EngineError) -> UInt64 {
    let rootNumber = InodeNumber.root.rawValue
    var root = try volume.directory(rootNumber, in: transaction)
    var name = Array("lost+found".utf8)
    while let found = try volume.directories.find(name, root: root.top, in: transaction) {
      if found.entry.type == FileMode.directory,
        (try? volume.directory(found.entry.inode, in: transaction)) != nil
      {
        return found.entry.inode
      }
      // Somebody uses the name for something else.
      name += [0x2b]
      guard name.count < 64 else { throw .posix(.exists) }
    }
    var record = InodeRecord()
    record.mode = FileMode.directory | 0o700
    record.links = 2
    record.user = root.user
    record.group = root.group
    record.begin()
    record.parent = rootNumber
    let number = try Inodes.make(record, in: transaction)
    try volume.add(
      Directories.Entry(inode: number, type: FileMode.directory, name: name), to: &root, rootNumber,
      in: transaction)
    return number
  }
}
