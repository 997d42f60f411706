import Bytes
import Crypto
import Engine
import Format
import POSIX

/// The audit log: a ring of pages in the system file, which no directory names.
///
/// So the root proves each entry, a frame carries it like any change, and pages exist twice.
/// Numbers and a chain of hashes show besides that none is missing and that they stand in their
/// order.
enum AuditLog {
  /// Entries that one frame takes.
  static let batch = 256

  static func page(of number: UInt64) -> PageID {
    PageID(.system, AuditHead.place(of: number).page)
  }

  static func head(in pages: some PageReader) throws(EngineError) -> AuditHead {
    let system = try pages.read(PageID(.system, 0))
    guard let head = AuditHead(from: system, at: SystemPage.audit) else {
      throw .damaged("where the audit log is")
    }
    return head
  }

  /// The 32 bytes after an entry.
  static func chain(_ before: [UInt8], _ body: Buffer, _ offset: Int) -> [UInt8] {
    let both = Buffer(count: AuditHead.chainSize + AuditEntry.size)
    both.store(before, at: 0)
    both.copy(from: body, offset..<(offset + AuditEntry.size), to: AuditHead.chainSize)
    return Hash.sha256(both.bytes)
  }

  static func append(
    _ entries: [AuditEntry], in transaction: Transaction
  ) throws(EngineError) {
    precondition(entries.count <= batch)
    var writer = try Writer(transaction)
    for entry in entries { try writer.append(entry) }
    writer.finish(try transaction.edit(PageID(.system, 0)))
  }

  /// What cannot be read of a page is given up, and an entry says so.
  static func giveUp(_ page: UInt32, in transaction: Transaction) throws(EngineError) {
    var writer = try Writer(transaction)
    try writer.giveUp(page)
    writer.finish(try transaction.edit(PageID(.system, 0)))
  }

  private struct Writer {
    private var head: AuditHead
    private let transaction: Transaction
    /// Notes tell of a mount that has not ended yet.
    private var isNoteOpen = false

    init(_ transaction: Transaction) throws(EngineError) {
      self.transaction = transaction
      head = try AuditLog.head(in: transaction)
      // Far from where numbers end: Coffre never comes there.
      guard head.count < 1 << 61 else { throw .damaged("where the audit log is") }
    }

    mutating func append(_ entry: AuditEntry) throws(EngineError) {
      if entry.isNoted { return try append(noted: entry) }
      switch entry.event {
      case .unlocked:
        if head.openUnlock > 0 {
          // Nobody was there to say so when the process was killed.
          var end = entry
          end.event = .locked(.killed, isLost: false)
          try put(end)
        }
        try put(entry)
        head.openUnlock = head.count
      case .locked:
        try put(entry)
        head.openUnlock = 0
      default: try put(entry)
      }
    }

    /// What was noted is of a mount that did not write here; but for the end of one that began here
    /// and could not write any more.
    private mutating func append(noted entry: AuditEntry) throws(EngineError) {
      try put(entry)
      switch entry.event {
      case .unlocked: isNoteOpen = true
      case .locked:
        if !isNoteOpen { head.openUnlock = 0 }
        isNoteOpen = false
      default: break
      }
    }

    func finish(_ system: Draft) {
      let stored = Buffer(count: AuditHead.size)
      head.store(to: stored, at: 0)
      system.copy(from: stored, 0..<AuditHead.size, to: SystemPage.audit)
    }

    /// Writes the next entry, and first what there is to say of its page.
    private mutating func put(_ entry: AuditEntry) throws(EngineError) {
      let place = AuditHead.place(of: head.count + 1)
      if place.offset == 0 {
        try begin(entry)
      } else {
        do throws(EngineError) { _ = try transaction.edit(PageID(.system, place.page)) } catch {
          guard error.isUnreadable else { throw error }
          return try replace(place.page, entry)
        }
      }
      try write(entry)
    }

    /// A new page; where the log is full, in the place of the oldest.
    private mutating func begin(_ entry: AuditEntry) throws(EngineError) {
      let id = AuditLog.page(of: head.count + 1)
      guard UInt64(head.numbers.count) == AuditHead.capacity else {
        _ = try transaction.fresh(id)
        return
      }
      let last = (try? transaction.read(id)).map(oldest)
      _ = try transaction.fresh(id)
      head.dropped += AuditHead.perPage
      // Where it can't be read, nothing is known of what was before.
      head.chainBefore = last?.chain ?? [UInt8](repeating: 0, count: AuditHead.chainSize)
      var note = entry
      note.isNoted = false
      note.event = .trimmed(entries: head.dropped, until: last?.time ?? 0)
      try write(note)
    }

    /// The last entry of the oldest page.
    private func oldest(_ page: Buffer) -> (time: UInt64, chain: [UInt8]) {
      let offset = AuditHead.place(of: head.dropped + AuditHead.perPage).offset
      let start = offset + AuditEntry.size
      return (
        AuditEntry(from: page, at: offset)?.time ?? 0,
        page.load(start..<(start + AuditHead.chainSize))
      )
    }

    private mutating func replace(_ page: UInt32, _ entry: AuditEntry) throws(EngineError) {
      try giveUp(page)
      try put(entry)
    }

    mutating func giveUp(_ page: UInt32) throws(EngineError) {
      _ = try transaction.fresh(PageID(.system, page))
      guard let numbers = head.numbers(in: page) else { return }
      try put(
        AuditEntry(
          .lost(from: numbers.lowerBound, to: numbers.upperBound), time: Clock.now,
          user: System.userNumber, program: System.programName))
    }

    private mutating func write(_ entry: AuditEntry) throws(EngineError) {
      var entry = entry
      entry.number = head.count + 1
      let place = AuditHead.place(of: entry.number)
      let stored = Buffer(count: AuditEntry.size + AuditHead.chainSize)
      entry.store(to: stored, at: 0)
      head.chain = AuditLog.chain(head.chain, stored, 0)
      stored.store(head.chain, at: AuditEntry.size)
      let draft = try transaction.edit(PageID(.system, place.page))
      draft.copy(from: stored, 0..<stored.count, to: place.offset)
      head.count += 1
    }
  }
}

extension AuditHead {
  /// The entries a page holds, all of one round of the ring; nil for none.
  func numbers(in page: UInt32) -> Range<UInt64>? {
    guard page > 0, UInt64(page) <= Self.pages, count > 0 else { return nil }
    let newest = (count - 1) / Self.perPage
    let back = (newest % Self.pages + Self.pages - UInt64(page - 1)) % Self.pages
    guard back <= newest else { return nil }
    let first = (newest - back) * Self.perPage + 1
    let found = first..<min(first + Self.perPage, count + 1)
    return first > dropped ? found : nil
  }
}
