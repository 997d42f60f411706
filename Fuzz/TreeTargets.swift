import Bytes
import Crypto
import Format
import POSIX
import TestKit

@testable import CommandLineTool
@testable import Engine
@testable import Session
@testable import Volume

/// Pages that authenticate, made by somebody who has the keys: errors, never a trap.
enum TreeTargets {
  private static let vault = FuzzVault.shared
  /// Every change of it is undone.
  private static let opened: Volume = {
    guard let volume = try? vault.open(vault.start.snapshot()) else {
      preconditionFailure("the vault opens")
    }
    return volume
  }()

  /// Pages of the vault that an input of a target may change.
  private static func places(_ target: FuzzTarget) -> [PageID] {
    let pages = (1...UInt32(24)).map { PageID(.pages, $0) }
    switch target {
    case .inode: return [PageID(.inodes, 0), PageID(.inodes, 1), PageID(.system, 0)]
    case .maps:
      return [
        PageID(.pageMap, 0), PageID(.inodeMap, 0), PageID(.dataMap, 0), PageID(.system, 0),
      ]
    case .audit: return [PageID(.system, 0), PageID(.system, 1), PageID(.system, 2)]
    case .volume:
      return pages + [PageID(.inodes, 0), PageID(.system, 0), PageID(.pageMap, 0)]
        + [PageID(.system, 1)] + [
          PageID(.inodeMap, 0), PageID(.dataMap, 0), PageID(.metaMap, 0), PageID(.lineage, 0),
        ]
    default: return pages
    }
  }

  /// Changes pages: which one, how, how many bytes of the input it takes.
  private static func change(
    _ bytes: [UInt8], _ places: [PageID], in transaction: Transaction
  ) throws(EngineError) {
    var input = Input(bytes)
    while !input.isEmpty {
      let draft = try transaction.edit(places[input.byte() % places.count])
      let changes = input.piece(1 + input.byte())
      let changed = Input.changing(draft.bytes.load(0..<Layout.chunkSize), changes)
      draft.store(changed, at: 0)
    }
  }

  static func pages(_ bytes: [UInt8], _ target: FuzzTarget) {
    if target == .audit && !bytes.isEmpty {
      precondition(opened.entries(ofNotes: Buffer(bytes)).isEmpty, "a note nobody sealed")
    }
    do throws(EngineError) {
      try opened.engine.transact { (transaction) throws(EngineError) in
        try change(bytes, places(target), in: transaction)
        switch target {
        case .inode: inodes(transaction)
        case .directory: directory(transaction)
        case .table: tables(transaction)
        case .attributes: attributes(transaction)
        case .audit: audit(transaction)
        default: maps(transaction)
        }
        throw EngineError.posix(.interrupted)
      }
    } catch {}
  }

  // MARK: - One kind of page each

  private static func inodes(_ transaction: Transaction) {
    for number in [0, 1, 2, 3, 4, 6, 16] as [UInt64] {
      guard let record = try? Inodes.record(of: number, in: transaction) else { continue }
      let found = Attributes(number, record)
      precondition(found.modified.nanoseconds < 1_000_000_000, "a time the kernel knows")
      use(number, record, transaction)
    }
    _ = try? Orphans.first(10, after: 0, in: transaction)
    try? Orphans.add(3, in: transaction)
    try? Orphans.remove(3, in: transaction)
  }

  private static func use(_ number: UInt64, _ record: InodeRecord, _ transaction: Transaction) {
    if record.isRegular { chunks(number, record, transaction) }
    if record.isDirectory { names(number, record, transaction) }
    _ = try? ExtendedAttributes.all(of: record, in: transaction)
    try? opened.dropLink(number, in: transaction)
  }

  private static func directory(_ transaction: Transaction) {
    for number in [1, 4] as [UInt64] {
      guard let record = try? Inodes.record(of: number, in: transaction) else { continue }
      names(number, record, transaction)
    }
  }

  private static func names(
    _ number: UInt64, _ record: InodeRecord, _ transaction: Transaction
  ) {
    let directories = opened.directories
    var record = record
    var found = 0
    try? PageTree.scan(from: 0, root: record.top, in: transaction) {
      (_, node, index) throws(EngineError) in
      if let entry = Directories.Entry(try node.value(index)) { _ = try? FileName(entry.name) }
      found += 1
      return found < 2000
    }
    let some = (0..<12).map { Array("a name of some length \($0 * 25)".utf8) }
    for name in some { _ = try? directories.find(name, root: record.top, in: transaction) }
    for name in some + [Array("file".utf8)] {
      try? directories.remove(name, root: &record.top, in: transaction)
    }
    for length in stride(from: 5, to: 255, by: 10) {
      let entry = Directories.Entry(
        inode: 2, type: FileMode.regular, name: [UInt8](repeating: 0x6e, count: length))
      try? opened.add(entry, to: &record, number, in: transaction)
    }
    for name in some { try? directories.remove(name, root: &record.top, in: transaction) }
  }

  private static func tables(_ transaction: Transaction) {
    for number in [2, 3] as [UInt64] {
      guard let record = try? Inodes.record(of: number, in: transaction) else { continue }
      chunks(number, record, transaction)
    }
  }

  private static func chunks(
    _ number: UInt64, _ record: InodeRecord, _ transaction: Transaction
  ) {
    var record = record
    for start in [0, 100, 1 << 31 - 40] as [UInt64] {
      _ = try? ChunkTree.references(of: record, start..<(start + 40), in: transaction)
    }
    let reference = Reference(slot: 77, ivHigh: 1, ivLow: 2, tagLow: 3, tagHigh: 4)
    for chunk in [2, 147, 1 << 21, 1 << 31 - 1] as [UInt64] {
      _ = try? ChunkTree.set(reference, at: chunk, of: &record, in: transaction)
      _ = try? ChunkTree.set(.hole, at: chunk, of: &record, in: transaction)
    }
    for keep in [4, 0] as [UInt64] {
      _ = try? ChunkTree.trim(&record, keeping: keep, budget: 64, in: transaction)
    }
    try? Inodes.store(record, as: number, in: transaction)
    try? Inodes.free(number, in: transaction)
  }

  private static func attributes(_ transaction: Transaction) {
    guard var record = try? Inodes.record(of: 2, in: transaction) else { return }
    let all = (try? ExtendedAttributes.all(of: record, in: transaction)) ?? []
    for attribute in all { _ = AccessControl.decode(attribute.value) }
    try? AccessControl.modeChanged(&record, in: transaction)
    try? ExtendedAttributes.store(all, in: &record, transaction)
    try? ExtendedAttributes.drop(&record, in: transaction)
  }

  private static func audit(_ transaction: Transaction) {
    guard let head = try? AuditLog.head(in: transaction) else { return }
    var pages: [PageID: Buffer] = [:]
    for start in head.starts {
      let id = AuditLog.page(of: start)
      pages[id] = try? transaction.read(id)
    }
    let record = AuditReader.record(head, later: head, pages)
    for entry in record.entries {
      precondition(Message(entry, as: "entry").auditEntry == entry, "an entry is told as it is")
      _ = JournalCommand.json(entry).text
      _ = JournalCommand.line(entry)
    }
    _ = record.problems.map(\.sentence)
    let events: [AuditEvent] = [
      .unlocked(slot: 0, isReadOnly: false, failed: 0, firstFailed: 0),
      .locked(.idle, isLost: false), .expired(files: 1),
    ]
    let entries = (0..<100).map { index in
      AuditEntry(events[index % 3], time: UInt64(index), user: 1, program: [0x61])
    }
    try? AuditLog.append(entries, in: transaction)
    for page in [1, 2, 512] as [UInt32] { try? AuditLog.giveUp(page, in: transaction) }
    precondition((try? AuditLog.head(in: transaction)) != nil, "the head stays one")
  }

  private static func maps(_ transaction: Transaction) {
    for number in [1, 5, 32767, 32768] as [UInt32] { try? transaction.freePage(number) }
    for number in [1, 2, 9] as [UInt64] { try? transaction.freeInode(number) }
    for _ in 0..<5 {
      _ = try? transaction.allocatePage()
      _ = try? transaction.allocateInode()
    }
    try? transaction.takeSlots(1..<70)
    try? transaction.releaseSlots(3..<9)
    try? transaction.takeSlots(32760..<32780)
  }

  // MARK: - The whole

  /// Changes pages for good, then works, checkpoints, closes and opens again.
  static func volume(_ bytes: [UInt8]) {
    let disk = vault.start.snapshot()
    guard let volume = try? vault.open(disk) else { preconditionFailure("the vault opens") }
    _ = try? volume.engine.transact { (transaction) throws(EngineError) in
      try change(bytes, places(.volume), in: transaction)
    }
    var check = ScrubOptions()
    check.isQuick = true
    _ = try? volume.scrub(check)
    work(on: volume)
    check.repairs = true
    _ = try? volume.scrub(check)
    try? volume.close()
    StoreTargets.work(on: disk)
  }

  /// What programs do with a mount.
  static func work(on volume: Volume) {
    var entries: [DirectoryEntry] = []
    for directory in [InodeNumber.root, InodeNumber(rawValue: 4)] {
      try? volume.readDirectory(directory, after: 0) {
        entries.append($0)
        return entries.count % 40 != 39
      }
    }
    _ = try? volume.space()
    _ = try? volume.auditRecord()
    let entry = AuditEntry(.expired(files: 1), time: 1, user: 1, program: [])
    try? volume.append([entry], isClosing: false)
    for entry in entries.prefix(50) { look(at: entry.inode, volume) }
    let driver = VolumeDriver(volume)
    let operations: [Operation] = [
      .create(FuzzVault.path("new")), .makeDirectory(FuzzVault.path("newer")),
      .write(FuzzVault.path("file"), at: 3000, count: 9000, fill: 1),
      .write(FuzzVault.path("sparse"), at: 601_000, count: 9000, fill: 1),
      .truncate(FuzzVault.path("sparse"), to: 5000), .truncate(FuzzVault.path("file"), to: 0),
      .punch(FuzzVault.path("gone"), 0..<30_000), .unlink(FuzzVault.path("gone")),
      .setAttribute(FuzzVault.path("file"), Array("user.c".utf8), count: 5000, fill: 3),
      .rename(FuzzVault.path("new"), to: FuzzVault.path("newer") + FuzzVault.path("x"), .replace),
      .rename(FuzzVault.path("many"), to: FuzzVault.path("empty"), .exchange),
      .removeDirectory(FuzzVault.path("many")), .unlink(FuzzVault.path("long")), .sync([]),
    ]
    for operation in operations { driver.attempt(operation) }
    _ = volume.reapOrphans()
    try? volume.engine.checkpoint()
  }

  private static func look(at inode: InodeNumber, _ volume: Volume) {
    guard let found = try? volume.attributes(of: inode) else { return }
    let buffer = Buffer(count: 64 << 10)
    for offset in [0, 600_000, found.size - min(found.size, 5000)] as [UInt64] {
      var span = buffer.mutableBytes(in: 0..<buffer.count)
      _ = try? volume.read(inode, into: &span, at: offset)
    }
    _ = try? volume.seekData(inode, from: 0)
    _ = try? volume.symlinkTarget(of: inode)
    _ = try? volume.parent(of: inode)
    for name in (try? volume.listAttributes(of: inode, for: FuzzVault.caller)) ?? [] {
      _ = try? volume.getAttribute(name, of: inode)
    }
  }
}
