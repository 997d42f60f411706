import Disk
import Format
import POSIX

/// Credits (invariant I8): before a change is accepted there is room for its frame and for the
/// checkpoint it will cause, in space that is allocated already.
extension Engine {
  /// Slots that only a change that gives space back may use: 2 MiB.
  static let metaReserve: UInt64 = 512

  /// Pages that a change of names or attributes touches at most.
  package static let usualPages = 64

  /// Slots a checkpoint may take of what is changed now and of so many pages more: each page, as
  /// many tables, and the pages of the map that show them.
  func checkpointNeed(and pages: Int = usualPages) -> UInt64 {
    UInt64(store.dirtyCount + pages) * 2 + metaAllocator.limit / 8192
  }

  /// Whether there is room for a change of so many pages, without making any.
  package func hasRoom(frees: Bool = false, pages: Int) -> Bool {
    // The need first: a checkpoint that ends meanwhile has taken its slots before it is less.
    let need = checkpointNeed(and: pages) + (frees ? 0 : Self.metaReserve)
    return metaFree >= need
  }

  /// Makes room in the metadata space for a change of so many pages, or refuses it. `frees`: the
  /// change gives space back, or was accepted before.
  package func makeRoom(frees: Bool, pages: Int = usualPages) throws(EngineError) {
    try checkWritable()
    // What a checkpoint has not caught up with is kept in memory: that is bounded.
    if store.dirtyCount > 4 * Self.dirtyLimit { try checkpoint() }
    let reserve = frees ? 0 : Self.metaReserve
    if try makeMetaRoom(for: checkpointNeed(and: pages) + reserve) { return }
    // What was released since the last root may be all that is missing.
    if metaAllocator.heldCount > 0 || store.dirtyCount > 0 { try checkpoint() }
    guard try makeMetaRoom(for: checkpointNeed(and: pages) + reserve) else {
      throw .noSpace("no room for metadata")
    }
  }

  /// The largest piece of work, `most` or a half of it or a quarter, ..., that there is room for; 1
  /// at least. For work that was accepted before and can be done bit by bit.
  package func piece(
    of most: Int, pages: (Int) throws(EngineError) -> Int
  ) throws(EngineError) -> Int {
    var count = most
    while count > 1 {
      do throws(EngineError) {
        try makeRoom(frees: true, pages: try pages(count))
        break
      } catch {
        guard case .noSpace = error else { throw error }
        count /= 2
      }
    }
    return count
  }

  func makeMetaRoom(for slots: UInt64) throws(EngineError) -> Bool {
    if metaFree >= slots { return true }
    return try growing.withLock { _ throws(EngineError) in
      while true {
        let free = metaFree
        if free >= slots { return true }
        guard try growMeta(by: slots - free) else { return false }
      }
    }
  }

  var metaFree: UInt64 {
    let used = health.withLock { $0.metaUsed } + UInt64(metaAllocator.heldCount) + 1
    let limit = metaAllocator.limit
    return limit > used ? limit - used : 0
  }

  /// Reserves more metadata slots on the lower filesystem, ahead of need where it has the room.
  private func growMeta(by slots: UInt64) throws(EngineError) -> Bool {
    let start = metaAllocator.limit
    let containerEnd =
      (start / UInt64(Layout.slotsPerContainer) + 1) * UInt64(Layout.slotsPerContainer)
    for step in [max(slots, 256, min(start / 8, 16384)), slots] {
      let end = min(start + step, containerEnd, UInt64(UInt32.max))
      guard end > start else { return false }
      do {
        try meta.allocate(UInt32(start)..<UInt32(end))
        metaAllocator.raiseLimit(to: end)
        return true
      } catch {
        guard error.isFull else { throw .disk(error) }
      }
    }
    return false
  }

  /// Whether the journal takes any frame: in its segment or in a spare. The last spare is the next
  /// checkpoint's. With the writer held.
  var hasJournalRoom: Bool {
    guard let journal else { return true }
    return journal.hasRoom || segments.count > 1
  }

  /// Segments at which frames wait for a checkpoint: one that is slow must not fill the disk.
  private static let mostSegments = 16

  func makeJournalRoomIfNone() throws(EngineError) {
    let (hasRoom, inUse) = writer.withLock { (hasJournalRoom, $0.segments.count) }
    if hasRoom { return }
    if inUse >= Self.mostSegments { return try checkpoint() }
    // Another segment, or the checkpoint that gives one back.
    do { try segments.add() } catch {
      guard error.isFull else { throw .disk(error) }
      try checkpoint()
    }
  }
}

extension EngineError {
  /// Whether there was no room for what was to be done.
  var isFull: Bool {
    switch self {
    case .noSpace: true
    case .disk(let failure): failure.isFull
    default: false
    }
  }
}

extension DiskError {
  /// Whether the lower filesystem or the user's share of it is full.
  var isFull: Bool { errno.isFull }

  /// Whether the same may succeed later: nothing is wrong with what is stored.
  var isTransient: Bool { isFull || errno == .noMemory || errno == .tooManyOpenFiles }
}
