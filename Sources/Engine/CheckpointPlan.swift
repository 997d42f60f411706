import Bytes
import Crypto
import Disk
import Format
import POSIX

/// Where each changed page of a snapshot goes, and what changes because of it.
///
/// A page gets a new slot at most once, so the closure over tables and the metadata map ends.
struct CheckpointPlan {
  private let store: PageStore
  private let allocator: SlotAllocator
  let snapshot: [PageID: Page?]
  private(set) var tops: [TreeTop]
  /// The new slot of each page; 0 for a page given up.
  private(set) var slots: [PageID: UInt32] = [:]
  /// New versions of tables and of pages of the metadata map.
  private(set) var staged: [PageID: Buffer] = [:]
  private(set) var taken: [Range<UInt32>] = []
  private(set) var freed: [UInt32] = []
  private var spare: Range<UInt32> = 0..<0

  init(
    store: PageStore, allocator: SlotAllocator, snapshot: [PageID: Page?]
  ) throws(EngineError) {
    self.store = store
    self.allocator = allocator
    self.snapshot = snapshot
    tops = store.tree.withRead { store.tops }
    do {
      for id in snapshot.keys.sorted(by: { $0.rawValue < $1.rawValue }) { try place(id) }
    } catch {
      giveBack()
      throw error
    }
    if !spare.isEmpty { allocator.giveBack(spare) }
    spare = 0..<0
  }

  /// Undoes the plan: nothing names its slots.
  mutating func giveBack() {
    if !spare.isEmpty { allocator.giveBack(spare) }
    for range in taken { allocator.giveBack(range) }
    spare = 0..<0
    taken = []
  }

  private mutating func place(_ id: PageID) throws(EngineError) {
    guard slots[id] == nil else { return }
    let isDropped = snapshot[id].map { $0 == nil } ?? false
    try grow(id)
    let old: Reference
    do throws(EngineError) { old = try store.referenceForWriter(of: id) } catch {
      guard isDropped, case .damaged = error else { throw error }
      // Below a table that is lost nothing can be given up, nor be found: it is left there.
      slots[id] = 0
      return
    }
    if isDropped && old.isHole {
      slots[id] = 0
      return
    }
    if isDropped {
      slots[id] = 0
    } else {
      let slot = try takeSlot()
      slots[id] = slot
      try mark(slot, taken: true)
    }
    if !old.isHole { try release(old.slot) }
    if id.level < tops[Int(id.file.rawValue)].height {
      try stage(id.table)
      try place(id.table)
    }
  }

  /// Adds levels until the file's tree can name the page.
  private mutating func grow(_ id: PageID) throws(EngineError) {
    let file = Int(id.file.rawValue)
    while id.level == 0 && UInt64(id.index) >= tops[file].capacity {
      let height = tops[file].height
      let table = PageID(id.file, 0, level: height + 1)
      let buffer = Buffer(count: Layout.chunkSize)
      for (index, reference) in tops[file].references.enumerated() {
        reference.store(to: buffer, at: index * Layout.referenceSize)
      }
      staged[table] = buffer
      tops[file].height = height + 1
      tops[file].references = [Reference](repeating: .hole, count: Layout.topReferences)
      try place(table)
    }
  }

  /// A changeable copy of a table or map page.
  private mutating func stage(_ id: PageID) throws(EngineError) {
    guard staged[id] == nil else { return }
    let page = try store.tree.withRead { () throws(EngineError) in try store.page(id) }
    staged[id] = Buffer(copying: page.bytes)
  }

  private mutating func takeSlot() throws(EngineError) -> UInt32 {
    if spare.isEmpty { spare = try allocator.take(64, near: spare.upperBound) }
    let slot = spare.lowerBound
    spare = (slot + 1)..<spare.upperBound
    taken.append(slot..<(slot + 1))
    return slot
  }

  private mutating func release(_ slot: UInt32) throws(EngineError) {
    let map = mapPage(of: slot)
    do throws(EngineError) {
      _ = try store.referenceForWriter(of: map)
      try stage(map)
    } catch {
      // Where the map is lost, the slot stays taken.
      guard case .damaged = error else { throw error }
      return
    }
    freed.append(slot)
    try mark(slot, taken: false)
  }

  private func mapPage(of slot: UInt32) -> PageID {
    PageID(.metaMap, slot / UInt32(Layout.bitsPerPage))
  }

  private mutating func mark(_ slot: UInt32, taken: Bool) throws(EngineError) {
    let id = mapPage(of: slot)
    try stage(id)
    guard let map = staged[id] else { preconditionFailure("the map page was just staged") }
    let bit = slot % UInt32(Layout.bitsPerPage)
    let offset = Int(bit / 64) * 8
    let mask: UInt64 = 1 << UInt64(bit % 64)
    let word = map.load(UInt64.self, at: offset)
    guard (word & mask != 0) != taken else {
      throw .damaged("the metadata map disagrees about slot \(slot)")
    }
    map.store(taken ? word | mask : word & ~mask, at: offset)
    try place(id)
  }

  /// Seals every page into its slot, children before the tables that name them. Returns what a run
  /// of slots is to hold, through `write`.
  mutating func seal(
    with key: SealingKey, write: (Buffer, Range<Int>, UInt32) throws(DiskError) -> Void
  ) throws(DiskError) {
    let levels = Set(slots.keys.map { $0.level }).sorted()
    for level in levels {
      let ids = slots.keys.filter { $0.level == level }
        .sorted { (slots[$0] ?? 0) < (slots[$1] ?? 0) }
      let run = Run()
      for id in ids {
        guard let slot = slots[id] else { continue }
        if slot == 0 {
          name(id, .hole)
          continue
        }
        // Of a map page that is re-keyed, the version with this checkpoint's own changes.
        guard let content = staged[id] ?? snapshot[id].flatMap({ $0 })?.bytes else {
          preconditionFailure("a placed page has content")
        }
        if run.isFull || slot != run.next { try run.flush(write) }
        let iv = Random.iv()
        let tag = key.seal(
          content, 0..<Layout.chunkSize, into: run.buffer, at: run.used, iv: iv,
          additional: id.additional)
        run.add(slot)
        name(id, Reference(slot: slot, iv: iv, tag: tag))
      }
      try run.flush(write)
    }
  }

  private mutating func name(_ id: PageID, _ reference: Reference) {
    let file = Int(id.file.rawValue)
    if id.level == tops[file].height {
      tops[file].references[Int(id.index)] = reference
    } else if let table = staged[id.table] {
      reference.store(to: table, at: id.position * Layout.referenceSize)
    } else {
      precondition(reference.isHole, "the table of a placed page was staged")
    }
  }

  /// Sealed pages for consecutive slots of one container, written together.
  private final class Run {
    static let pages = 64
    let buffer = Buffer(count: pages * Layout.chunkSize)
    private var start: UInt32 = 0
    private(set) var used = 0

    var isFull: Bool { used == buffer.count }
    var next: UInt32? {
      let next = start + UInt32(used / Layout.chunkSize)
      return used > 0 && next % Layout.slotsPerContainer != 0 ? next : nil
    }

    func add(_ slot: UInt32) {
      if used == 0 { start = slot }
      used += Layout.chunkSize
    }

    func flush(_ write: (Buffer, Range<Int>, UInt32) throws(DiskError) -> Void) throws(DiskError) {
      guard used > 0 else { return }
      try write(buffer, 0..<used, start)
      used = 0
    }
  }
}
