package import Bytes
package import Format

/// A page being changed within a transaction, with the ranges that changed.
package final class Draft {
  package let bytes: Buffer
  let isFresh: Bool
  private(set) var ranges: [Range<Int>] = []

  init(copying page: Page) {
    bytes = Buffer(copying: page.bytes)
    isFresh = false
  }

  init() {
    bytes = Buffer(count: Layout.chunkSize)
    isFresh = true
  }

  package func store<T: FixedWidthInteger & BitwiseCopyable>(_ value: T, at offset: Int) {
    bytes.store(value, at: offset)
    touch(offset..<(offset + MemoryLayout<T>.size))
  }

  package func store(_ value: [UInt8], at offset: Int) {
    bytes.store(value, at: offset)
    touch(offset..<(offset + value.count))
  }

  package func store(_ reference: Reference, at offset: Int) {
    reference.store(to: bytes, at: offset)
    touch(offset..<(offset + Layout.referenceSize))
  }

  package func store(_ record: InodeRecord, at offset: Int) {
    record.store(to: bytes, at: offset)
    touch(offset..<(offset + Layout.inodeSize))
  }

  package func copy(from source: Buffer, _ range: Range<Int>, to offset: Int) {
    bytes.copy(from: source, range, to: offset)
    touch(offset..<(offset + range.count))
  }

  package func zero(_ range: Range<Int>) {
    bytes.zero(range)
    touch(range)
  }

  /// Notes a change; ranges closer than a record's header are joined.
  private func touch(_ range: Range<Int>) {
    guard !range.isEmpty else { return }
    bytes.isSound = false
    var joined = range
    ranges.removeAll { other in
      guard other.lowerBound <= joined.upperBound + 12, joined.lowerBound <= other.upperBound + 12
      else { return false }
      joined =
        min(joined.lowerBound, other.lowerBound)..<max(joined.upperBound, other.upperBound)
      return true
    }
    ranges.append(joined)
  }
}

/// Where the volume reads pages from: the published ones, or those of a transaction.
package protocol PageReader {
  func read(_ id: PageID) throws(EngineError) -> Buffer
}

/// The published pages, read with the tree held shared.
package struct CommittedPages: PageReader {
  let store: PageStore

  package func read(_ id: PageID) throws(EngineError) -> Buffer { try store.page(id).bytes }
}

/// One change of the metadata, whole or not at all.
///
/// It works on copies; `Engine.commit` writes one journal frame and then publishes them. Dropping a
/// transaction undoes it, but for slots taken, which whoever took them gives back.
package final class Transaction: PageReader {
  private let store: PageStore
  private(set) var drafts: [PageID: Draft] = [:]
  private(set) var dropped: Set<PageID> = []
  /// Data slots whose taking or release this frame records.
  private(set) var taken: [Range<UInt32>] = []
  private(set) var released: [Range<UInt32>] = []
  /// Ciphertext that travels in the frame instead of being synced first: (slot, buffer, offset).
  private(set) var images: [(slot: UInt32, bytes: Buffer, offset: Int)] = []
  /// Where to look for a free page and a free inode number.
  var nextPage: UInt64
  var nextInode: UInt64

  init(store: PageStore, nextPage: UInt64, nextInode: UInt64) {
    self.store = store
    self.nextPage = nextPage
    self.nextInode = nextInode
  }

  /// The page as this transaction sees it.
  package func read(_ id: PageID) throws(EngineError) -> Buffer {
    if let draft = drafts[id] { return draft.bytes }
    if dropped.contains(id) { return Page.zero.bytes }
    return try store.pageForWriter(id).bytes
  }

  /// The page, to change.
  package func edit(_ id: PageID) throws(EngineError) -> Draft {
    if let draft = drafts[id] { return draft }
    // Two trees that share a page, which only a maker of pages can bring about.
    guard !dropped.contains(id) else { throw .damaged("page \(id.index) is in use twice") }
    let draft = Draft(copying: try store.pageToChange(id))
    drafts[id] = draft
    return draft
  }

  /// Throws unless a root can say where a page is, and that it is gone: what its table holds
  /// besides can be read.
  func checkPlace(_ id: PageID) throws(EngineError) { _ = try store.referenceForWriter(of: id) }

  /// A page that starts all zero.
  package func fresh(_ id: PageID) throws(EngineError) -> Draft {
    try checkPlace(id)
    dropped.remove(id)
    let draft = Draft()
    drafts[id] = draft
    return draft
  }

  /// Gives a page up that has a place.
  func drop(_ id: PageID) {
    drafts[id] = nil
    dropped.insert(id)
  }

  /// Records in the data map that slots given out by the allocator are taken.
  package func takeSlots(_ slots: Range<UInt32>) throws(EngineError) {
    try setBits(of: .dataMap, slots, to: true)
    taken += Self.split(slots)
  }

  /// Records in the data map that slots are no longer named.
  package func releaseSlots(_ slots: Range<UInt32>) throws(EngineError) {
    try setBits(of: .dataMap, slots, to: false)
    released += Self.split(slots)
  }

  package func addImage(slot: UInt32, _ bytes: Buffer, at offset: Int) {
    images.append((slot, bytes, offset))
  }

  var isEmpty: Bool { drafts.isEmpty && dropped.isEmpty && images.isEmpty }

  /// Pieces that each lie in one map page.
  private static func split(_ slots: Range<UInt32>) -> [Range<UInt32>] {
    let perPage = UInt32(Layout.bitsPerPage)
    var pieces: [Range<UInt32>] = []
    var start = slots.lowerBound
    while start < slots.upperBound {
      let stop = min(slots.upperBound, (start / perPage + 1) * perPage)
      pieces.append(start..<stop)
      start = stop
    }
    return pieces
  }

  private func setBits(
    of file: MetadataFile, _ slots: Range<UInt32>, to value: Bool
  ) throws(EngineError) {
    let perPage = UInt32(Layout.bitsPerPage)
    var slot = slots.lowerBound
    while slot < slots.upperBound {
      let draft = try edit(PageID(file, slot / perPage))
      let stop = min(slots.upperBound, (slot / perPage + 1) * perPage)
      while slot < stop {
        let bit = slot % perPage
        let offset = Int(bit / 64) * 8
        let lastBit = min(stop - slot, 64 - bit % 64)
        let mask = (lastBit == 64 ? UInt64.max : (1 << UInt64(lastBit)) - 1) << UInt64(bit % 64)
        let word = draft.bytes.load(UInt64.self, at: offset)
        guard word & mask == (value ? 0 : mask) else {
          throw .damaged("the data map disagrees with a file about slot \(slot)")
        }
        draft.store(value ? word | mask : word & ~mask, at: offset)
        slot += lastBit
      }
    }
    let system = try edit(PageID(.system, 0))
    let used = try SystemPage.count(SystemPage.usedSlots, in: system.bytes)
    let count = UInt64(slots.count)
    guard value || used >= count else { throw .damaged("the count of taken slots") }
    system.store(value ? used + count : used - count, at: SystemPage.usedSlots)
  }
}

/// Offsets in page 0 of the system file.
package enum SystemPage {
  package static let usedSlots = 0
  package static let usedInodes = 8
  package static let usedPages = 16
  /// Root page of the orphan list (key: inode number), u32.
  package static let orphans = 24
  /// Where the audit log is, see `AuditHead`.
  package static let audit = 32

  /// One of the counters.
  package static func count(_ offset: Int, in page: Buffer) throws(EngineError) -> UInt64 {
    let count = page.load(UInt64.self, at: offset)
    guard count < 1 << 40 else { throw .damaged("a count in the system page") }
    return count
  }
}
