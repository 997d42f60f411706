import Bytes
import Crypto
import Disk
import Format
import POSIX

extension Engine {
  /// Writes a new root that describes everything framed so far. Readers and writers go on
  /// meanwhile.
  ///
  /// The order is invariant I6: switch the journal; write pages to slots the old root does not
  /// name; sync; write the older root copy; sync; the other; sync; anchor; only then let go of what
  /// the old root named. If it throws, the old root and the segments stay valid.
  package func checkpoint() throws(EngineError) {
    try checkpointing.withLock { chain throws(EngineError) in
      try checkWritable()
      do throws(EngineError) { try checkpoint(&chain) } catch {
        switch error {
        case .disk(let failure) where !failure.isTransient:
          turnReadOnly("a checkpoint failed: \(failure.errno.description)")
        case .damaged(let what):
          // No later one would do better.
          turnReadOnly("a checkpoint failed: \(what) is damaged")
        default: break
        }
        throw error
      }
    }
  }

  /// What a checkpoint describes.
  struct Snapshot {
    var pages: [PageID: Page?]
    var segment: SegmentName
    var successor: SegmentName
    var firstSequence: UInt64
    var previous: Tag
    var oldSegments: [UInt64]
    /// Whether pages are in it to be re-keyed, and the page to go on with after it.
    var rekeys = false
    var nextToRekey: UInt64?
  }

  private func checkpoint(_ chain: inout Chain) throws(EngineError) {
    if try !makeMetaRoom(for: checkpointNeed()) { try tryPlan() }
    try startRekeying(&chain)
    try writeCheckpoint(&chain, try takeSnapshot(chain.root))
  }

  /// Throws `.noSpace` if a checkpoint finds no room, before it has used up a segment.
  private func tryPlan() throws(EngineError) {
    var plan = try CheckpointPlan(
      store: store, allocator: metaAllocator, snapshot: store.snapshot())
    plan.giveBack()
  }

  func writeCheckpoint(_ chain: inout Chain, _ snapshot: Snapshot) throws(EngineError) {
    var plan = try CheckpointPlan(
      store: store, allocator: metaAllocator, snapshot: snapshot.pages)
    let root: RootRecord
    let wiped: [Range<UInt32>]
    do throws(EngineError) {
      try writePages(&plan)
      root = try nextRoot(chain, snapshot, plan)
      wiped = Self.ranges(plan.freed)
      try appendWipes(wiped, generation: root.generation)
      try checkSoleWriter(chain)
    } catch {
      plan.giveBack()
      throw error
    }
    try writeRoot(roots.seal(root), &chain)
    writeAnchor(&chain)
    finishRekeying(&chain)
    finish(plan, snapshot, wiped)
    // Not before: whoever compares it takes the tree for that of this root.
    let generation = root.generation
    health.withLock { $0.generation = generation }
  }

  private func writePages(_ plan: inout CheckpointPlan) throws(EngineError) {
    try syncData()
    do {
      try plan.seal(with: store.key) { (buffer, range, slot) throws(DiskError) in
        try meta.write(buffer.bytes(in: range), at: slot)
      }
    } catch { throw .disk(error) }
    do { try meta.sync() } catch {
      turnReadOnly("a sync of metadata failed: \(error.errno.description)")
      throw .disk(error)
    }
  }

  /// A copy that is true and not this session's shows that the vault was opened elsewhere too
  /// (I11).
  private func checkSoleWriter(_ chain: Chain) throws(EngineError) {
    for index in chain.copyTags.indices {
      guard let copy = try roots.read(index), copy.tag != chain.copyTags[index] else { continue }
      let reason = "another program has written to this vault"
      turnReadOnly(reason)
      throw .readOnly(reason)
    }
  }

  private func writeRoot(_ copy: RootFiles.Copy, _ chain: inout Chain) throws(EngineError) {
    do {
      for index in [chain.olderCopy, 1 - chain.olderCopy] {
        try roots.write(copy, to: index)
        chain.copyTags[index] = copy.tag
      }
    } catch {
      // The new root may be durable: its slots must not be written again by this session.
      turnReadOnly("writing the root failed: \(error.errno.description)")
      throw .disk(error)
    }
    chain.root = copy.record
    chain.rootTag = copy.tag
  }

  /// Switches the journal and notes what the new root is to describe, with the writer held.
  func takeSnapshot(_ root: RootRecord) throws(EngineError) -> Snapshot {
    guard let journal else { throw .readOnly("the vault is mounted read-only") }
    if journal.filled > 0 && segments.count == 0 {
      do { try segments.add() } catch {
        if error.isFull { throw .noSpace("no room for the journal") }
        throw .disk(error)
      }
    }
    let isRekeying = store.isRekeying
    let rekeyed = isRekeying ? try pagesToRekey(root) : (pages: [:], next: nil)
    return try writer.withLock { writer throws(EngineError) in
      // A frame may have failed meanwhile whose slots count as released though nothing says so.
      try checkWritable()
      // A segment without a frame will do: an abandoned checkpoint may have switched to it.
      if journal.filled > 0 { try startSegment(&writer) }
      let old = Array(writer.segments.dropLast())
      let position = journal.position
      data.allocator.beginCheckpoint()
      // What has changed since it was read goes as it is now.
      let pages = store.snapshot().merging(rekeyed.pages) { changed, _ in changed }
      return Snapshot(
        pages: pages, segment: journal.segmentName, successor: journal.successor,
        firstSequence: position.sequence, previous: position.previous, oldSegments: old,
        rekeys: isRekeying, nextToRekey: rekeyed.next)
    }
  }

  private func nextRoot(
    _ chain: Chain, _ snapshot: Snapshot, _ plan: CheckpointPlan
  ) throws(EngineError) -> RootRecord {
    var root = chain.root
    root.generation += 1
    root.metadataSeals += UInt64(plan.slots.count)
    root.segment = snapshot.segment
    root.successor = snapshot.successor
    root.firstSequence = snapshot.firstSequence
    root.previousTagLow = snapshot.previous.low
    root.previousTagHigh = snapshot.previous.high
    let used = root.usedMetaSlots + UInt64(plan.taken.count)
    guard used >= UInt64(plan.freed.count) else {
      throw .damaged("the root's count of metadata slots")
    }
    root.usedMetaSlots = used - UInt64(plan.freed.count)
    root.tops = plan.tops
    if snapshot.rekeys { Self.noteRekeyed(&root, snapshot.nextToRekey) }
    return root
  }

  /// The frame that says which slots to overwrite once the root is durable, so that a crash does
  /// not leave old metadata behind (I2).
  private func appendWipes(
    _ ranges: [Range<UInt32>], generation: UInt64
  ) throws(EngineError) {
    guard let journal else { return }
    var rest = ranges[...]
    repeat {
      let piece = Array(rest.prefix(4096))
      rest = rest.dropFirst(4096)
      try writer.withLock { writer throws(EngineError) in
        JournalRecord.encodeWipe(generation: generation, piece, to: &writer.records)
        defer { writer.records.clear() }
        if !journal.fits(writer.records.count) { try startSegment(&writer) }
        do throws(DiskError) {
          _ = try journal.append(writer.records.buffer, writer.records.count)
        } catch {
          throw .disk(error)
        }
      }
    } while !rest.isEmpty
    do { try journal.sync(through: journal.appendedSequence) } catch { throw .disk(error) }
  }

  func writeAnchor(_ chain: inout Chain) {
    guard let anchor else { return }
    chain.anchorCounter += 1
    let record = AnchorRecord(
      generation: chain.root.generation, session: chain.root.session, rootTag: chain.rootTag,
      configurationGeneration: chain.root.configurationGeneration)
    let isWritten = (try? anchor.write(record, counter: chain.anchorCounter)) != nil
    health.withLock { $0.anchorFailed = !isWritten }
  }

  /// After the root is durable in both copies.
  private func finish(_ plan: CheckpointPlan, _ snapshot: Snapshot, _ wiped: [Range<UInt32>]) {
    var tables: [PageID: Page] = [:]
    for (id, buffer) in plan.staged { tables[id] = Page(buffer) }
    // First what it has taken: from here on its pages count as clean, and need no more room.
    health.withLock { $0.metaUsed += UInt64(plan.taken.count) }
    store.install(snapshot.pages, tables: tables, tops: plan.tops)
    for slots in plan.taken { metaAllocator.confirm(slots) }
    for slot in plan.freed { try? metaAllocator.release(slot..<(slot + 1)) }
    health.withLock { $0.metaUsed -= UInt64(plan.freed.count) }
    metaAllocator.beginCheckpoint()
    metaAllocator.finishCheckpoint { _ in wipe(wiped) }
    data.allocator.finishCheckpoint { freed in
      // Small gaps are worth their space only where it is short: they make files fragmented.
      let least = isShortOfSpace ? 1 : 16
      for slots in Self.ranges(freed) where slots.count >= least {
        try? data.containers.punch(slots)
      }
    }
    writer.withLock { $0.segments.removeAll { snapshot.oldSegments.contains($0) } }
    // What is not done here is done at the next opening.
    try? segments.recycle(snapshot.oldSegments)
    try? segments.fill()
    reserve.restore()
    health.withLock { $0.checkpoints += 1 }
  }

  /// Overwrites freed metadata slots in both copies, so that what they held is gone.
  func wipe(_ ranges: [Range<UInt32>]) {
    let zeros = Buffer(count: 64 * Layout.chunkSize)
    for range in ranges {
      var start = range.lowerBound
      while start < range.upperBound {
        let end = min(range.upperBound, start + 64)
        try? meta.write(
          zeros.bytes(in: 0..<((Int(end - start)) * Layout.chunkSize)), at: start)
        start = end
      }
    }
  }

  package static func ranges(_ slots: [UInt32]) -> [Range<UInt32>] {
    ranges(slots.map { $0..<($0 + 1) })
  }

  /// Sorts and joins ranges, each within one container.
  static func ranges(_ pieces: [Range<UInt32>]) -> [Range<UInt32>] {
    var joined: [Range<UInt32>] = []
    for piece in pieces.sorted(by: { $0.lowerBound < $1.lowerBound }) {
      if let last = joined.last, last.upperBound == piece.lowerBound,
        piece.lowerBound % Layout.slotsPerContainer != 0
      {
        joined[joined.count - 1] = last.lowerBound..<piece.upperBound
      } else {
        joined.append(piece)
      }
    }
    return joined
  }
}
