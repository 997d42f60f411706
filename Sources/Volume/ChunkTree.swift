import Bytes
import Engine
import Format

/// The chunk references of a file: three in the inode, the rest in tables below pointer pages.
enum ChunkTree {
  /// Chunks a tree of this height can name.
  static func capacity(_ height: UInt8) -> UInt64 {
    height == 0 ? 0 : UInt64(Layout.referencesPerTable) << (10 * UInt64(height - 1))
  }

  /// The references of a range of chunks; holes where nothing is stored.
  static func references(
    of record: InodeRecord, _ chunks: Range<UInt64>, in pages: some PageReader
  ) throws(EngineError) -> [Reference] {
    var found = [Reference](repeating: .hole, count: chunks.count)
    var chunk = chunks.lowerBound
    while chunk < chunks.upperBound {
      if chunk < Layout.directReferences {
        found[Int(chunk - chunks.lowerBound)] = try direct(record, Int(chunk))
        chunk += 1
        continue
      }
      let tableEnd = min((chunk / 128 + 1) * 128, chunks.upperBound)
      if let table = try table(of: record, chunk, in: pages) {
        for index in chunk..<tableEnd {
          found[Int(index - chunks.lowerBound)] = try reference(Int(index % 128), in: table.bytes)
        }
      }
      chunk = tableEnd
    }
    return found
  }

  /// The first chunk at or after one that is stored. What no table names is passed over at once.
  static func firstStored(
    of record: InodeRecord, from start: UInt64, in pages: some PageReader
  ) throws(EngineError) -> UInt64? {
    var chunk = start
    while chunk < Layout.directReferences {
      if try !direct(record, Int(chunk)).isHole { return chunk }
      chunk += 1
    }
    while record.top != 0, chunk < capacity(record.height) {
      var page = record.top
      var height = record.height
      while height > 1, page != 0 {
        page = try pages.read(PageID(.pages, page)).load(UInt32.self, at: pointer(chunk, height))
        height -= 1
      }
      if page == 0 {
        chunk = (chunk / capacity(height) + 1) * capacity(height)
        continue
      }
      let table = try pages.read(PageID(.pages, page))
      let end = (chunk / 128 + 1) * 128
      while chunk < end {
        if try !reference(Int(chunk % 128), in: table).isHole { return chunk }
        chunk += 1
      }
    }
    return nil
  }

  /// What is below one table, or in its place.
  struct Step {
    var references: [Reference] = []
    /// A page that cannot be read: what it names up to `next` is unknown.
    var lost: UInt32?
    /// Where to go on; the first chunk no table here covers.
    var next: UInt64
  }

  /// The references of the table that covers a chunk, from that chunk on; nil behind the end of the
  /// tree. `visit` hears of every page on the way.
  static func step(
    of record: InodeRecord, from chunk: UInt64, in pages: some PageReader,
    _ visit: (UInt32) -> Void
  ) -> Step? {
    guard record.top != 0, chunk < capacity(record.height) else { return nil }
    var page = record.top
    var height = record.height
    while true {
      let next = (chunk / capacity(height) + 1) * capacity(height)
      guard page != 0 else { return Step(next: next) }
      visit(page)
      guard let bytes = try? pages.read(PageID(.pages, page)) else {
        return Step(lost: page, next: next)
      }
      if height == 1 {
        var references: [Reference] = []
        for index in Int(chunk % 128)..<128 {
          guard let reference = try? reference(index, in: bytes) else {
            return Step(lost: page, next: next)
          }
          references.append(reference)
        }
        return Step(references: references, next: next)
      }
      page = bytes.load(UInt32.self, at: pointer(chunk, height))
      height -= 1
    }
  }

  static func direct(_ record: InodeRecord, _ index: Int) throws(EngineError) -> Reference {
    try reference(index, in: Buffer(record.tail))
  }

  private static func reference(_ index: Int, in table: Buffer) throws(EngineError) -> Reference {
    try Reference(from: table, at: index * Layout.referenceSize).checked()
  }

  private static func setDirect(_ record: inout InodeRecord, _ index: Int, _ value: Reference) {
    let tail = Buffer(record.tail)
    value.store(to: tail, at: index * Layout.referenceSize)
    record.tail = tail.load(0..<96)
  }

  /// The table page that covers a chunk, if there is one.
  private static func table(
    of record: InodeRecord, _ chunk: UInt64, in pages: some PageReader
  ) throws(EngineError) -> (page: UInt32, bytes: Buffer)? {
    guard record.top != 0, chunk < capacity(record.height) else { return nil }
    var page = record.top
    var height = record.height
    while height > 1 {
      let pointers = try pages.read(PageID(.pages, page))
      page = pointers.load(UInt32.self, at: pointer(chunk, height))
      if page == 0 { return nil }
      height -= 1
    }
    return (page, try pages.read(PageID(.pages, page)))
  }

  /// The offset of a chunk's pointer in a pointer page of this height.
  private static func pointer(_ chunk: UInt64, _ height: UInt8) -> Int {
    Int(chunk / capacity(height - 1) % Layout.pointersPerPage) * 4
  }

  /// Sets one reference and returns the one before. Makes tables as needed.
  static func set(
    _ reference: Reference, at chunk: UInt64, of record: inout InodeRecord,
    in transaction: Transaction
  ) throws(EngineError) -> Reference {
    let old: Reference
    if chunk < Layout.directReferences {
      old = try direct(record, Int(chunk))
      setDirect(&record, Int(chunk), reference)
    } else {
      if reference.isHole, try table(of: record, chunk, in: transaction) == nil { return .hole }
      let page = try makeTable(for: chunk, of: &record, in: transaction)
      let draft = try transaction.edit(PageID(.pages, page))
      old = try self.reference(Int(chunk % 128), in: draft.bytes)
      draft.store(reference, at: Int(chunk % 128) * Layout.referenceSize)
    }
    if old.isHole && !reference.isHole { record.chunks += 1 }
    if !old.isHole && reference.isHole { record.chunks -= min(record.chunks, 1) }
    return old
  }

  private static func makeTable(
    for chunk: UInt64, of record: inout InodeRecord, in transaction: Transaction
  ) throws(EngineError) -> UInt32 {
    if record.top == 0 {
      record.height = 1
      while capacity(record.height) <= chunk { record.height += 1 }
      record.top = try transaction.allocatePage().number
    }
    while capacity(record.height) <= chunk {
      let (number, page) = try transaction.allocatePage()
      page.store(record.top, at: 0)
      record.top = number
      record.height += 1
    }
    var page = record.top
    var height = record.height
    while height > 1 {
      let offset = pointer(chunk, height)
      var next = try transaction.read(PageID(.pages, page)).load(UInt32.self, at: offset)
      if next == 0 {
        next = try transaction.allocatePage().number
        try transaction.edit(PageID(.pages, page)).store(next, at: offset)
      }
      page = next
      height -= 1
    }
    return page
  }

  /// Releases chunks from the end down to `keep`, at most about `budget` tables of them.
  /// Returns whether all is done.
  static func trim(
    _ record: inout InodeRecord, keeping keep: UInt64, budget: Int, in transaction: Transaction
  ) throws(EngineError) -> Bool {
    var budget = budget
    var slots: [UInt32] = []
    if record.top != 0 {
      let isEmpty = try trim(
        record.top, record.height, base: 0, keep: keep, &budget, &slots, in: transaction)
      if isEmpty {
        try transaction.freePage(record.top)
        record.top = 0
        record.height = 0
      }
    }
    if budget > 0 {
      for index in 0..<Int(Layout.directReferences) where UInt64(index) >= keep {
        let reference = try direct(record, index)
        if !reference.isHole { slots.append(reference.slot) }
        setDirect(&record, index, .hole)
      }
    }
    record.chunks -= min(record.chunks, UInt64(slots.count))
    for range in Engine.ranges(slots) { try transaction.releaseSlots(range) }
    return budget > 0
  }

  /// Releases below one page. Returns whether the page is empty now.
  private static func trim(
    _ page: UInt32, _ height: UInt8, base: UInt64, keep: UInt64, _ budget: inout Int,
    _ slots: inout [UInt32], in transaction: Transaction
  ) throws(EngineError) -> Bool {
    let id = PageID(.pages, page)
    if height == 1 {
      return try trimTable(id, base: base, keep: keep, &budget, &slots, in: transaction)
    }
    let span = capacity(height - 1)
    let first = keep > base ? Int(min((keep - base) / span, Layout.pointersPerPage)) : 0
    for index in stride(from: Int(Layout.pointersPerPage) - 1, through: first, by: -1) {
      guard budget > 0 else { return false }
      let child = try transaction.read(id).load(UInt32.self, at: index * 4)
      if child == 0 { continue }
      let isEmpty = try trim(
        child, height - 1, base: base + UInt64(index) * span, keep: keep, &budget, &slots,
        in: transaction)
      if isEmpty {
        try transaction.freePage(child)
        try transaction.edit(id).store(UInt32(0), at: index * 4)
      }
    }
    guard budget > 0 else { return false }
    return try transaction.read(id).isZero(0..<Layout.chunkSize)
  }

  private static func trimTable(
    _ id: PageID, base: UInt64, keep: UInt64, _ budget: inout Int, _ slots: inout [UInt32],
    in transaction: Transaction
  ) throws(EngineError) -> Bool {
    budget -= 1
    let first = keep > base ? Int(min(keep - base, 128)) : 0
    let table = try transaction.read(id)
    for index in first..<128 {
      let reference = try reference(index, in: table)
      if !reference.isHole { slots.append(reference.slot) }
    }
    if first == 0 { return true }
    let rest = (first * Layout.referenceSize)..<Layout.chunkSize
    if !table.isZero(rest) { try transaction.edit(id).zero(rest) }
    return try transaction.read(id).isZero(0..<Layout.chunkSize)
  }
}
