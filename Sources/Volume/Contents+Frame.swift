import Bytes
import Engine
import Format
import POSIX

extension Volume {
  /// Chunks that travel in the journal frame itself when they are all an fsync has to save.
  private static let imageLimit = 16
  /// Chunk references one frame takes.
  private static let batch = 2048

  /// fsync(2), fdatasync(2): everything written to the inode lasts when this returns.
  package func sync(_ inode: InodeNumber, dataOnly: Bool) throws(VolumeError) {
    try answer { () throws(EngineError) in
      try nodes.with(inode.rawValue) { (node) throws(EngineError) in
        try node.content.withWrite { () throws(EngineError) in
          try frame(node, images: true)
        }
        try throwFailure(of: node)
      }
      try engine.syncJournal()
    }
  }

  package func syncDirectory(_ inode: InodeNumber) throws(VolumeError) {
    try answer { () throws(EngineError) in try engine.syncJournal() }
  }

  package func syncAll() throws(VolumeError) {
    try answer { () throws(EngineError) in
      try frameAll()
      try engine.syncJournal()
    }
  }

  /// close(2): tells what went wrong since the last time somebody was told. Where contents were
  /// given up for new ones (O_TRUNC), the new ones are framed first (I3).
  package func flush(_ inode: InodeNumber) throws(VolumeError) {
    try answer { () throws(EngineError) in
      guard let node = nodes.existing(inode.rawValue) else { return }
      if node.state.withLock({ $0.replaces }) {
        try nodes.with(inode.rawValue) { (node) throws(EngineError) in
          try node.content.withWrite { () throws(EngineError) in try frame(node, images: true) }
          node.state.withLock { $0.replaces = false }
        }
      }
      try throwFailure(of: node)
    }
  }

  func throwFailure(of node: Node) throws(EngineError) {
    let failure = node.state.withLock { state in
      defer { state.failure = nil }
      return state.failure
    }
    if let failure { throw failure }
  }

  /// Frames what is pending, in as many frames as it takes. With the contents held exclusively.
  ///
  /// A frame names a chunk only after the chunk is durable (I3): either everything is synced first,
  /// or, for a few chunks, the frame carries their ciphertext.
  func frame(
    _ node: Node, images: Bool,
    finishing: (inout InodeRecord) throws(EngineError) -> Void = { _ in }
  ) throws(EngineError) {
    let (pending, isSettled) = node.state.withLock { ($0.pending, $0.isSettled) }
    if isSettled { return }
    let carries = images && pending.stored <= Self.imageLimit
    if pending.stored > 0 && !carries { try engine.syncData() }
    var rest = pending.chunks[...]
    repeat {
      let piece = Array(rest.prefix(try pieceSize(of: rest)))
      rest = rest.dropFirst(piece.count)
      if rest.isEmpty {
        try frame(node, piece, isLast: true, carries: carries, finishing: finishing)
      } else {
        try frame(node, piece, isLast: false, carries: carries) { _ in }
      }
    } while !rest.isEmpty
  }

  /// How many chunks go into the next frame.
  private func pieceSize(of chunks: ArraySlice<UInt64>) throws(EngineError) -> Int {
    try engine.piece(of: min(Self.batch, chunks.count)) { (count) throws(EngineError) in
      try pages(of: chunks.prefix(count))
    }
  }

  /// Pages that a frame of these chunks changes at most.
  private func pages(of chunks: ArraySlice<UInt64>) throws(EngineError) -> Int {
    let perTable = UInt64(Layout.referencesPerTable)
    var tables = 0
    var last = UInt64.max
    for chunk in chunks where chunk / perTable != last {
      last = chunk / perTable
      tables += 1
    }
    return try Engine.usualPages + tables + engine.data.mapPages(for: 2 * chunks.count)
  }

  private func frame(
    _ node: Node, _ chunks: [UInt64], isLast: Bool, carries: Bool,
    finishing: (inout InodeRecord) throws(EngineError) -> Void
  ) throws(EngineError) {
    var seals: UInt64 = 0
    // What was accepted is not refused later: room for it was there when it was written.
    let pages = try pages(of: chunks[...])
    try engine.transact(frees: true, pages: pages) { (transaction) throws(EngineError) in
      // Taken with the writer held, as whoever sets a time without the contents clears `written`.
      let state = node.state.withLock { $0 }
      seals = state.seals
      var record = try Inodes.record(of: node.number, in: transaction)
      var taken: [UInt32] = []
      var released: [UInt32] = []
      for chunk in chunks {
        guard let reference = state.pending[chunk] else { continue }
        let old = try ChunkTree.set(reference, at: chunk, of: &record, in: transaction)
        if !old.isHole { released.append(old.slot) }
        if !reference.isHole { taken.append(reference.slot) }
      }
      for range in Engine.ranges(taken) { try transaction.takeSlots(range) }
      for range in Engine.ranges(released) { try transaction.releaseSlots(range) }
      if carries { try carry(chunks, of: node, record, state, in: transaction) }
      if let size = state.size {
        // A frame never shows a size whose chunks are still to come.
        let framed = ((chunks.last ?? 0) + 1) * UInt64(Layout.chunkSize)
        let shown = isLast ? size : max(record.size, min(size, framed))
        if shown < record.size && record.chunks > 0 {
          record.flags.insert(.trimming)
          try Orphans.add(node.number, in: transaction)
        }
        record.size = shown
      }
      if let written = state.written {
        record.modified = written
        record.changed = max(record.changed, written)
      }
      record.seals = min(record.seals + lostSeals(record) + seals, InodeRecord.mostSeals)
      record.stops = stops
      if isLast, record.flags.contains(.rekeying), state.keys != nil {
        let tables = state.rekeyed / UInt64(Layout.referencesPerTable)
        record.rekeyed = UInt32(min(tables, 1 << 24 - 1))
      }
      try finishing(&record)
      try Inodes.store(record, as: node.number, in: transaction)
    }
    changePending(of: node) { state in
      state.seals -= seals
      for chunk in chunks { state.pending.set(chunk, nil) }
      if isLast {
        state.size = nil
        state.written = nil
        state.replaces = false
      }
    }
  }

  /// Puts the ciphertext of chunks into the frame, if it is what their references say: what the
  /// lower filesystem has lost meanwhile must not be called durable.
  private func carry(
    _ chunks: [UInt64], of node: Node, _ record: InodeRecord, _ state: Node.State,
    in transaction: Transaction
  ) throws(EngineError) {
    let keys = try keys(of: node, record)
    let plain = Buffer(count: Layout.chunkSize)
    for chunk in chunks {
      guard let reference = state.pending[chunk], !reference.isHole else { continue }
      let image = Buffer(count: Layout.chunkSize)
      let slots = reference.slot..<(reference.slot + 1)
      try engine.data.read(slots, into: image, at: 0)
      var span = plain.mutableBytes(in: 0..<Layout.chunkSize)
      guard
        keys.open(
          image, 0..<Layout.chunkSize, into: &span, reference, chunkContext(node.number, chunk))
      else { throw .damaged(Self.describe(chunk, of: node.number, slots)) }
      transaction.addImage(slot: reference.slot, image, at: 0)
    }
  }

  /// Frames every node's pending contents, each after a sync of the data.
  func frameAll() throws(EngineError) {
    let numbers = nodes.pending
    guard !numbers.isEmpty else { return }
    var failure: EngineError?
    for number in numbers {
      do throws(EngineError) {
        try nodes.with(number) { (node) throws(EngineError) in
          try node.content.withWrite { () throws(EngineError) in
            do throws(EngineError) { try frame(node, images: false) } catch {
              if case .posix(.stale) = error { discardPending(of: node) } else { throw error }
            }
          }
        }
      } catch {
        failure = failure ?? error
        nodes.existing(number)?.state.withLock { $0.failure = error }
      }
    }
    if let failure { throw failure }
  }

  /// What is pending is for an inode that is gone, or is given up: its slots are free at once.
  func discardPending(of node: Node) {
    let pending = changePending(of: node) { state in
      let pending = state.pending
      state.pending = PendingChunks()
      state.size = nil
      state.written = nil
      state.replaces = false
      return pending
    }
    giveBack(pending.references)
  }

  /// Slots that no frame names and none will.
  func giveBack(_ references: [Reference]) {
    let slots = references.filter { !$0.isHole }.map { $0.slot }
    engine.data.giveBack(slots, punching: engine.isShortOfSpace)
  }
}

/// Compares two times; tuples of them do not get `max` from the library.
private func max(
  _ left: (seconds: Int64, nanoseconds: UInt32), _ right: (seconds: Int64, nanoseconds: UInt32)
) -> (seconds: Int64, nanoseconds: UInt32) {
  (left.seconds, left.nanoseconds) < (right.seconds, right.nanoseconds) ? right : left
}
