import Bytes
import Crypto
import Disk
import Format
import POSIX

/// Reads the journal after a root and applies its frames to pages in memory. Nothing is written but
/// the bad one of two copies of a page, where the vault may be written.
///
/// Replay is blind: it needs no order but that of the frames, and doing it again changes nothing.
struct Recovery {
  /// Where replay goes on, and where it is to go on after that.
  private struct Place {
    let segment: SegmentName
    let successor: SegmentName
  }

  private let disk: any Disk
  private let vault: [UInt8]
  private let segmentBytes: Int
  private let store: PageStore
  /// Set if the journal goes on, or may go on, behind the last frame that was replayed.
  private(set) var gap: JournalGap?
  private(set) var frames = 0
  /// Whether any frame changed something: the stop before was not clean.
  private(set) var hasChanges = false
  private(set) var lastSequence: UInt64
  private(set) var lastTag: Tag
  /// Segments that belong to the journal.
  private(set) var segments: [UInt64] = []
  private(set) var wipes: [Range<UInt32>] = []
  private var drafts: [PageID: Buffer] = [:]
  private var dropped: Set<PageID> = []
  /// Pages that frames change and of which no copy is left. Only where nothing is written: a page
  /// that came back later would lack what the frames say.
  private var lost: Set<PageID> = []
  private let passesLost: Bool
  /// Ciphertext of data slots.
  private var images: [UInt32: Buffer] = [:]
  let root: RootRecord

  init(
    disk: any Disk, vault: [UInt8], segmentBytes: Int, store: PageStore, root: RootRecord,
    passesLost: Bool
  ) {
    self.passesLost = passesLost
    self.disk = disk
    self.vault = vault
    self.segmentBytes = segmentBytes
    self.store = store
    self.root = root
    lastSequence = root.firstSequence - 1
    lastTag = Tag(low: root.previousTagLow, high: root.previousTagHigh)
  }

  /// Replays every segment from the root's on, up to the end or to a gap.
  mutating func run(master: borrowing SecretBytes) throws(EngineError) {
    var place: Place? = Place(segment: root.segment, successor: root.successor)
    while let current = place {
      segments.append(current.segment.number)
      place = try replay(current, master)
    }
  }

  /// Makes what was replayed the newest. Only where `writable` anything is written.
  func publish(to data: DataSpace, writable: Bool) throws(EngineError) {
    for (slot, image) in images {
      if writable {
        try data.write(image, 0..<image.count, at: slot)
      } else {
        data.keep(image, for: slot)
      }
    }
    var pages: [PageID: Page?] = [:]
    for (id, buffer) in drafts { pages[id] = .some(Page(buffer)) }
    for id in dropped { pages[id] = .some(nil) }
    store.publish(pages)
    store.setLost(lost.filter { pages[$0] == nil })
  }

  /// Replays one segment; returns the next one if a switch frame names it.
  private mutating func replay(
    _ place: Place, _ master: borrowing SecretBytes
  ) throws(EngineError) -> Place? {
    let codec = SegmentCodec(place.segment, master: master, vault: vault)
    let image = try SegmentImage(place.segment.number, of: segmentBytes, on: disk)
    var offset = 0
    var next: Place?
    var isOrderly = true
    while next == nil, let frame = codec.open(image.bytes, at: offset) {
      let payload = frame.payload
      isOrderly =
        payload.load(UInt64.self, at: 0) == lastSequence + 1 && Tag(from: payload, at: 8) == lastTag
      guard isOrderly else { break }
      next = try apply(payload)
      lastSequence += 1
      lastTag = frame.tag
      offset += frame.size
      frames += 1
    }
    if let next, next.segment == place.successor { return next }
    var search = JournalSearch(
      disk: disk, vault: vault, segmentBytes: segmentBytes, lastSequence: lastSequence)
    // Where frames fit together, the one that failed is not looked at again.
    search.look(in: image.bytes, codec, from: isOrderly ? offset + Layout.frameAlignment : offset)
    try search.follow(place.successor, master: master)
    let isBroken = search.provesDamage || !isOrderly || next != nil
    let name = SegmentCodec.fileName(place.segment.number)
    let found: (object: String, cause: JournalGap.Cause)? =
      if let doubt = image.doubt(from: offset) { (name, doubt) } else if isBroken {
        (name, .damaged)
      } else { search.unreadable }
    guard let found else { return nil }
    gap = JournalGap(object: found.object, cause: found.cause, framesBehind: search.frames)
    // What shows the gap stays until a root is durable that does without.
    segments += search.segments
    return nil
  }

  private mutating func apply(_ payload: Buffer) throws(EngineError) -> Place? {
    var reader = ByteReader(payload, in: SegmentCodec.preludeSize..<payload.count)
    var next: Place?
    while reader.remaining > 0 {
      guard let record = JournalRecord.decode(&reader) else {
        throw .damaged("a journal frame (records)")
      }
      switch record {
      case .write(let id, let offset, let range):
        hasChanges = true
        try draft(id)?.copy(from: payload, range, to: offset)
      case .fresh(let id):
        hasChanges = true
        dropped.remove(id)
        drafts[id] = Buffer(count: Layout.chunkSize)
      case .drop(let id):
        hasChanges = true
        drafts[id] = nil
        dropped.insert(id)
      case .image(let slot, let range):
        let image = Buffer(count: Layout.chunkSize)
        image.copy(from: payload, range, to: 0)
        images[slot] = image
      case .next(let name, let successor): next = Place(segment: name, successor: successor)
      case .wipe(let generation, let ranges):
        if generation == root.generation { wipes += ranges }
      case .end: return next
      }
    }
    return next
  }

  /// The page to change; nil if it is lost, and is passed.
  private mutating func draft(_ id: PageID) throws(EngineError) -> Buffer? {
    if let buffer = drafts[id] { return buffer }
    if dropped.remove(id) != nil {
      let buffer = Buffer(count: Layout.chunkSize)
      drafts[id] = buffer
      return buffer
    }
    if lost.contains(id) { return nil }
    let page: Page
    do throws(EngineError) { page = try store.pageForWriter(id) } catch {
      guard case .damaged = error, passesLost else { throw error }
      lost.insert(id)
      return nil
    }
    let buffer = Buffer(copying: page.bytes)
    drafts[id] = buffer
    return buffer
  }
}
