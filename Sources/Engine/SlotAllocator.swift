import Format
import POSIX

/// Which slots of a space may be written now.
///
/// A slot is unavailable if the map says it is taken, if it was given out and its taking is not yet
/// in the map, or if it was released since the last durable root, which may still name it
/// (invariants I1 and I2). The map itself is a metadata file; this keeps only the pages in use.
package final class SlotAllocator: Sendable {
  /// Reads one page of the map: 512 words.
  package typealias MapReader = @Sendable (UInt32) throws(EngineError) -> [UInt64]

  private struct MapPage {
    /// One bit a slot, set = unavailable.
    var bits: [UInt64]
    var free: Int
    /// Bits that the stored map does not show: such a page can't be read again.
    var pinned: Int
  }

  private struct State {
    var pages: [UInt32: MapPage] = [:]
    var cursor: UInt32 = 0
    /// Slots released by frames since the last snapshot, and those before it that a checkpoint
    /// under way will make free.
    var releasedNow: [Range<UInt32>] = []
    var releasedBefore: [Range<UInt32>] = []
    /// Slots in both lists.
    var held = 0
    var limit: UInt64
  }

  private static let slotsPerPage = UInt32(Layout.bitsPerPage)
  private static let maximumIdlePages = 64
  private let state: Lock<State>
  private let read: MapReader

  /// `limit` is the first slot that may not be given out.
  package init(limit: UInt64, read: @escaping MapReader) {
    state = Lock(State(limit: limit))
    self.read = read
  }

  package var limit: UInt64 { state.withLock { $0.limit } }

  /// More slots may be given out from now on; never fewer.
  package func raiseLimit(to limit: UInt64) {
    state.withLock { state in
      guard limit > state.limit else { return }
      state.cursor = min(state.cursor, UInt32(state.limit / UInt64(Self.slotsPerPage)))
      state.limit = limit
    }
  }

  /// Gives out up to `count` slots in a row, at `goal` if that is free; fewer if no such run is
  /// near. Throws `.noSpace` when not a single slot is left below the limit.
  package func take(_ count: Int, near goal: UInt32) throws(EngineError) -> Range<UInt32> {
    precondition(count > 0)
    return try state.withLock { state throws(EngineError) in
      if goal != 0, UInt64(goal) < state.limit,
        let run = try claimIfKnown(count, from: goal, anywhere: false, &state)
      {
        return run
      }
      let last = UInt32((state.limit + UInt64(Self.slotsPerPage) - 1) / UInt64(Self.slotsPerPage))
      var page = state.cursor
      while page < last {
        let first = page * Self.slotsPerPage
        if let run = try claimIfKnown(count, from: first, anywhere: true, &state) {
          state.cursor = page
          return run
        }
        page += 1
      }
      state.cursor = last
      throw .noSpace("all slots are taken")
    }
  }

  /// Takes back slots that were given out and not named by any frame.
  package func giveBack(_ slots: Range<UInt32>) {
    state.withLock { state in Self.clear(slots, &state) }
  }

  /// The same for a run that may cross pages of the map.
  package func giveBackPieces(_ slots: Range<UInt32>) {
    var start = slots.lowerBound
    while start < slots.upperBound {
      let end = min(slots.upperBound, (start / Self.slotsPerPage + 1) * Self.slotsPerPage)
      giveBack(start..<end)
      start = end
    }
  }

  /// The map now shows these slots as taken: a frame that says so was appended.
  package func confirm(_ slots: Range<UInt32>) {
    state.withLock { state in
      state.pages[slots.lowerBound / Self.slotsPerPage]?.pinned -= slots.count
    }
  }

  /// A frame released these slots: they stay unavailable until a root without them is durable.
  package func release(_ slots: Range<UInt32>) throws(EngineError) {
    try state.withLock { state throws(EngineError) in
      let page = slots.lowerBound / Self.slotsPerPage
      try load(page, &state)
      Self.markTaken(slots, &state)
      state.pages[page]?.pinned += slots.count
      state.releasedNow.append(slots)
      state.held += slots.count
    }
  }

  /// A checkpoint took its snapshot: what was released until now becomes free when it is done.
  package func beginCheckpoint() {
    state.withLock { state in
      state.releasedBefore += state.releasedNow
      state.releasedNow = []
    }
  }

  /// The checkpoint's root is durable in both copies: what was released before its snapshot becomes
  /// free, after `body` has wiped or punched it.
  package func finishCheckpoint(_ body: ([Range<UInt32>]) -> Void) {
    let freed = state.withLock { $0.releasedBefore }
    body(freed)
    state.withLock { state in
      for slots in freed {
        Self.clear(slots, &state)
        state.held -= slots.count
      }
      state.releasedBefore.removeFirst(freed.count)
    }
  }

  /// Slots released and not yet free.
  package var heldCount: Int { state.withLock { $0.held } }

  /// Forgets map pages that say nothing the stored map does not.
  func forgetIdle() {
    state.withLock { state in
      state.pages = state.pages.filter { $0.value.pinned > 0 }
      state.cursor = 0
    }
  }

  private static func clear(_ slots: Range<UInt32>, _ state: inout State) {
    let page = slots.lowerBound / slotsPerPage
    guard state.pages[page] != nil else { preconditionFailure("a pinned map page is kept") }
    for slot in slots {
      let bit = slot % slotsPerPage
      state.pages[page]?.bits[Int(bit / 64)] &= ~(1 << UInt64(bit % 64))
    }
    state.pages[page]?.free += slots.count
    state.pages[page]?.pinned -= slots.count
    state.cursor = min(state.cursor, page)
  }

  /// The map may already show released slots as free.
  private static func markTaken(_ slots: Range<UInt32>, _ state: inout State) {
    let page = slots.lowerBound / slotsPerPage
    for slot in slots {
      let bit = slot % slotsPerPage
      let mask: UInt64 = 1 << UInt64(bit % 64)
      if let word = state.pages[page]?.bits[Int(bit / 64)], word & mask == 0 {
        state.pages[page]?.bits[Int(bit / 64)] = word | mask
        state.pages[page]?.free -= 1
      }
    }
  }

  /// Brings a map page in, letting go of idle ones.
  private func load(_ page: UInt32, _ state: inout State) throws(EngineError) {
    if state.pages[page] != nil { return }
    if state.pages.count > Self.maximumIdlePages {
      state.pages = state.pages.filter { $0.value.pinned > 0 }
    }
    var bits = try read(page)
    if page == 0 { bits[0] |= 1 }  // slot 0 means a hole
    let taken = bits.reduce(0) { $0 + $1.nonzeroBitCount }
    state.pages[page] = MapPage(bits: bits, free: Int(Self.slotsPerPage) - taken, pinned: 0)
  }

  /// Where one page of the map is lost, the others still give room.
  private func claimIfKnown(
    _ count: Int, from slot: UInt32, anywhere: Bool, _ state: inout State
  ) throws(EngineError) -> Range<UInt32>? {
    do throws(EngineError) { return try claim(count, from: slot, anywhere: anywhere, &state) } catch
    {
      guard case .damaged = error else { throw error }
      return nil
    }
  }

  private func claim(
    _ count: Int, from slot: UInt32, anywhere: Bool, _ state: inout State
  ) throws(EngineError) -> Range<UInt32>? {
    let page = slot / Self.slotsPerPage
    try load(page, &state)
    guard let map = state.pages[page], map.free > 0 else { return nil }
    let base = page * Self.slotsPerPage
    let end = UInt32(min(UInt64(Self.slotsPerPage), state.limit - UInt64(base)))
    guard let start = Self.firstFree(map.bits, from: slot - base, before: end),
      anywhere || start == slot - base
    else { return nil }
    var stop = start + 1
    while stop < end, Int(stop - start) < count, map.bits[Int(stop / 64)] >> (stop % 64) & 1 == 0 {
      stop += 1
    }
    for bit in start..<stop { state.pages[page]?.bits[Int(bit / 64)] |= 1 << UInt64(bit % 64) }
    state.pages[page]?.free -= Int(stop - start)
    state.pages[page]?.pinned += Int(stop - start)
    return (base + start)..<(base + stop)
  }

  private static func firstFree(_ bits: [UInt64], from start: UInt32, before end: UInt32) -> UInt32?
  {
    var bit = start
    while bit < end {
      let word = bits[Int(bit / 64)] >> UInt64(bit % 64)
      if ~word << UInt64(bit % 64) == 0 {
        bit = (bit / 64 + 1) * 64
        continue
      }
      bit += UInt32((~word).trailingZeroBitCount)
      return bit < end && bits[Int(bit / 64)] >> UInt64(bit % 64) & 1 == 0 ? bit : nil
    }
    return nil
  }
}
