import Bytes
import Crypto
import Disk
import Format
import POSIX

/// Reads the journal after a root and applies its frames to pages in memory.
///
/// Replay is blind: it needs no order but that of the frames, and doing it again changes nothing.
struct Recovery {
  let disk: any Disk
  let vault: [UInt8]
  let store: PageStore
  let data: DataSpace
  let readOnly: Bool
  private(set) var frames = 0
  /// Whether any frame changed something: the stop before was not clean.
  private(set) var hasChanges = false
  private(set) var lastSequence: UInt64
  private(set) var lastTag: Tag
  private(set) var segments: [UInt64] = []
  private(set) var wipes: [Range<UInt32>] = []
  private var drafts: [PageID: Buffer] = [:]
  private var dropped: Set<PageID> = []
  private let root: RootRecord

  init(
    disk: any Disk, vault: [UInt8], store: PageStore, data: DataSpace, readOnly: Bool,
    root: RootRecord
  ) {
    self.disk = disk
    self.vault = vault
    self.store = store
    self.data = data
    self.readOnly = readOnly
    self.root = root
    lastSequence = root.firstSequence - 1
    lastTag = Tag(low: root.previousTagLow, high: root.previousTagHigh)
  }

  /// Replays every segment from the root's on, then publishes what changed.
  mutating func run(master: borrowing SecretBytes) throws(EngineError) {
    var name: SegmentName? = root.segment
    while let current = name {
      segments.append(current.number)
      let codec = SegmentCodec(current, master: master, vault: vault)
      guard let bytes = try read(current.number) else {
        throw .missing(SegmentCodec.fileName(current.number))
      }
      name = try replay(bytes, codec)
    }
    var pages: [PageID: Page?] = [:]
    for (id, buffer) in drafts { pages[id] = .some(Page(buffer)) }
    for id in dropped { pages[id] = .some(nil) }
    store.publish(pages)
  }

  private func read(_ number: UInt64) throws(EngineError) -> Buffer? {
    do {
      let file = try disk.open(SegmentCodec.fileName(number), writable: false)
      let size = Int(min(try file.size(), 64 << 20))
      let bytes = Buffer(count: size)
      var span = bytes.mutableBytes(in: 0..<size)
      guard try file.read(into: &span, at: 0) == size else {
        throw EngineError.damaged(SegmentCodec.fileName(number))
      }
      return bytes
    } catch let error as DiskError {
      if error.errno == .noSuchFile { return nil }
      throw .disk(error)
    } catch let error as EngineError { throw error } catch {
      preconditionFailure("only these two are thrown")
    }
  }

  /// Replays one segment; returns the next one if a switch frame names it.
  private mutating func replay(
    _ bytes: Buffer, _ codec: SegmentCodec
  ) throws(EngineError) -> SegmentName? {
    var offset = 0
    while let frame = codec.open(bytes, at: offset) {
      let payload = frame.payload
      guard payload.load(UInt64.self, at: 0) == lastSequence + 1,
        Tag(from: payload, at: 8) == lastTag
      else { throw .damaged("\(SegmentCodec.fileName(codec.name.number)) (frame order)") }
      lastSequence += 1
      lastTag = frame.tag
      offset += frame.size
      frames += 1
      if let next = try apply(payload) { return next }
    }
    try checkEnd(bytes, codec, from: offset)
    return nil
  }

  /// The journal ends where no frame authenticates, unless a later one knows that one was durable
  /// (I5).
  private func checkEnd(
    _ bytes: Buffer, _ codec: SegmentCodec, from start: Int
  ) throws(EngineError) {
    var offset = start + Layout.frameAlignment
    while offset + SegmentCodec.headerSize <= bytes.count {
      if let frame = codec.open(bytes, at: offset),
        frame.payload.load(UInt64.self, at: 24) > lastSequence
      {
        throw .journalDamaged(SegmentCodec.fileName(codec.name.number))
      }
      offset += Layout.frameAlignment
    }
  }

  private mutating func apply(_ payload: Buffer) throws(EngineError) -> SegmentName? {
    var reader = ByteReader(payload, in: SegmentCodec.preludeSize..<payload.count)
    var next: SegmentName?
    while reader.remaining > 0 {
      guard let record = JournalRecord.decode(&reader) else {
        throw .damaged("a journal frame (records)")
      }
      switch record {
      case .write(let id, let offset, let range):
        hasChanges = true
        try draft(id).copy(from: payload, range, to: offset)
      case .fresh(let id):
        hasChanges = true
        dropped.remove(id)
        drafts[id] = Buffer(count: Layout.chunkSize)
      case .drop(let id):
        hasChanges = true
        drafts[id] = nil
        dropped.insert(id)
      case .image(let slot, let range): try restore(slot, payload, range)
      case .next(let name): next = name
      case .wipe(let generation, let ranges):
        if generation == root.generation { wipes += ranges }
      }
    }
    return next
  }

  private mutating func draft(_ id: PageID) throws(EngineError) -> Buffer {
    if let buffer = drafts[id] { return buffer }
    if dropped.remove(id) != nil {
      let buffer = Buffer(count: Layout.chunkSize)
      drafts[id] = buffer
      return buffer
    }
    let page = try store.tree.withRead { () throws(EngineError) in try store.page(id) }
    let buffer = Buffer(copying: page.bytes)
    drafts[id] = buffer
    return buffer
  }

  private func restore(
    _ slot: UInt32, _ payload: Buffer, _ range: Range<Int>
  ) throws(EngineError) {
    if readOnly {
      let image = Buffer(count: Layout.chunkSize)
      image.copy(from: payload, range, to: 0)
      data.keep(image, for: slot)
    } else {
      try data.write(payload, range, at: slot)
    }
  }
}
