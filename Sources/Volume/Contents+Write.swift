import Bytes
import Crypto
import Engine
import Format
import POSIX

extension Volume {
  /// Writes the whole span or throws. It lasts after `sync`; a crash before keeps the old or the
  /// new chunks.
  package func write(
    _ inode: InodeNumber, _ span: RawSpan, at offset: UInt64, clearsSetID: Bool
  ) throws(VolumeError) {
    do { try engine.checkWritable() } catch { throw VolumeError(error) }
    guard span.byteCount > 0 else { return }
    let (end, overflow) = offset.addingReportingOverflow(UInt64(span.byteCount))
    guard !overflow, end <= Layout.maximumFileSize else { throw .system(.fileTooLarge) }
    do throws(EngineError) {
      try nodes.with(inode.rawValue) { (node) throws(EngineError) in
        // First, as the kernel does it: what fails after the contents would be told of them.
        if clearsSetID { try clearSetID(of: node) }
        do throws(EngineError) { try writeContents(of: node, span, at: offset) } catch {
          guard case .noSpace = error else { throw error }
          try writeWhenFull(node, span, at: offset)
        }
      }
    } catch { throw failure(error) }
    frameIfMuch()
  }

  /// Seals new chunks into free slots and notes their references; no frame names them yet.
  func writeContents(
    of node: Node, _ span: RawSpan, at offset: UInt64
  ) throws(EngineError) {
    try node.content.withWrite { () throws(EngineError) in
      var record = try record(of: node.number)
      guard record.isRegular else {
        throw .posix(record.isDirectory ? .isDirectory : .invalid)
      }
      if record.flags.contains(.trimming) {
        try finishTrimming(node)
        record = try self.record(of: node.number)
      }
      record = try reserveSeals(of: node, record, count: span.byteCount / Layout.chunkSize + 4)
      let size = node.state.withLock { $0.size } ?? record.size
      let end = offset + UInt64(span.byteCount)
      if !engine.reserve.isWhole, try grows(node, record, offset..<end, size: size) {
        guard engine.reserve.restore() else { throw engine.reserve.failure }
      }
      try makeRoom(for: node, record, offset..<end, size: size)
      if offset > size { try clearTail(of: node, record, size) }
      try change(node) { (fresh) throws(EngineError) in
        try writeChunks(of: node, record, span, at: offset, size: size, &fresh)
      }
      changePending(of: node) { state in
        if end > size { state.size = end }
        state.written = Clock.realtime
      }
      if record.flags.contains(.rekeying) {
        rekeySome(of: node, after: span.byteCount / Layout.chunkSize + 2)
      }
    }
  }

  /// Chunks sealed into free slots, to become the file's all together.
  typealias FreshChunks = [(chunk: UInt64, reference: Reference)]

  /// Runs a change of contents, whole or not at all. With the contents held exclusively.
  func change(
    _ node: Node, _ body: (inout FreshChunks) throws(EngineError) -> Void
  ) throws(EngineError) {
    var fresh: FreshChunks = []
    do throws(EngineError) { try body(&fresh) } catch {
      engine.data.giveBack(
        fresh.map { $0.reference.slot }, punching: engine.isShortOfSpace)
      throw error
    }
    changePending(of: node) { state in
      for (chunk, reference) in fresh { replace(chunk, reference, &state) }
    }
  }

  /// `size` is the size before.
  private func writeChunks(
    of node: Node, _ record: InodeRecord, _ span: RawSpan, at offset: UInt64, size: UInt64,
    _ fresh: inout FreshChunks
  ) throws(EngineError) {
    let chunkSize = UInt64(Layout.chunkSize)
    var done = 0
    while done < span.byteCount {
      let position = offset + UInt64(done)
      let chunk = position / chunkSize
      let inside = Int(position % chunkSize)
      let rest = span.byteCount - done
      if inside != 0 || rest < Layout.chunkSize {
        let bytes = min(rest, Layout.chunkSize - inside)
        try mergeChunk(
          of: node, record, span.extracting(done..<(done + bytes)), chunk, inside, size: size,
          &fresh)
        done += bytes
      } else {
        let whole = rest / Layout.chunkSize * Layout.chunkSize
        done += try sealRun(
          of: node, record, span.extracting(done..<(done + whole)), chunk, &fresh)
      }
    }
  }

  /// Seals as many whole chunks as one run of free slots takes. Returns the bytes done.
  func sealRun(
    of node: Node, _ record: InodeRecord, _ span: RawSpan, _ chunk: UInt64,
    _ fresh: inout FreshChunks
  ) throws(EngineError) -> Int {
    let wanted = min(span.byteCount, ScratchPool.size) / Layout.chunkSize
    let goal = node.state.withLock { $0.goal }
    let key = try keys(of: node, record).newest
    let slots = try engine.data.allocator.take(wanted, near: goal)
    let sealed = scratch.take()
    defer { scratch.giveBack(sealed) }
    var references: [Reference] = []
    references.reserveCapacity(slots.count)
    for index in 0..<slots.count {
      let start = index * Layout.chunkSize
      let iv = Random.iv()
      let tag = key.seal(
        span.extracting(start..<(start + Layout.chunkSize)), into: sealed, at: start, iv: iv,
        additional: chunkContext(node.number, chunk + UInt64(index)))
      references.append(Reference(slot: slots.lowerBound + UInt32(index), iv: iv, tag: tag))
    }
    do {
      try engine.data.write(sealed, 0..<(slots.count * Layout.chunkSize), at: slots.lowerBound)
    } catch {
      engine.data.giveBack(Array(slots), punching: engine.isShortOfSpace)
      throw error
    }
    for (index, reference) in references.enumerated() {
      fresh.append((chunk + UInt64(index), reference))
    }
    node.state.withLock { state in
      state.goal = slots.upperBound
      state.seals += UInt64(slots.count)
    }
    return slots.count * Layout.chunkSize
  }

  /// Notes a chunk's new reference. A slot that no frame names is free at once.
  func replace(_ chunk: UInt64, _ reference: Reference, _ state: inout Node.State) {
    if let old = state.pending.set(chunk, reference), !old.isHole {
      engine.data.allocator.giveBack(old.slot..<(old.slot + 1))
    }
  }

  /// Writes part of a chunk: reads the rest of it first, unless there is none.
  func mergeChunk(
    of node: Node, _ record: InodeRecord, _ span: RawSpan, _ chunk: UInt64, _ inside: Int,
    size: UInt64, _ fresh: inout FreshChunks
  ) throws(EngineError) {
    let plain = Buffer(count: Layout.chunkSize)
    let start = chunk * UInt64(Layout.chunkSize)
    let covered = inside == 0 && start + UInt64(span.byteCount) >= size
    if !covered && start < size {
      try readChunk(of: node, record, chunk, into: plain)
      // What lies beyond the end of the file must read as zeros once the file grows over it.
      let valid = Int(min(size - start, UInt64(Layout.chunkSize)))
      plain.zero(valid..<Layout.chunkSize)
    }
    plain.store(span, at: inside)
    _ = try sealRun(of: node, record, plain.bytes, chunk, &fresh)
  }

  /// The plaintext of one chunk, with the contents held.
  func readChunk(
    of node: Node, _ record: InodeRecord, _ chunk: UInt64, into plain: Buffer
  ) throws(EngineError) {
    guard let reference = try references(of: node, record, chunk..<(chunk + 1)).first,
      !reference.isHole
    else { return }
    let sealed = scratch.take()
    defer { scratch.giveBack(sealed) }
    try engine.data.read(reference.slot..<(reference.slot + 1), into: sealed, at: 0)
    var bytes = plain.mutableBytes(in: 0..<Layout.chunkSize)
    guard
      try keys(of: node, record).open(
        sealed, 0..<Layout.chunkSize, into: &bytes, reference, chunkContext(node.number, chunk))
    else {
      throw .damaged(
        Self.describe(chunk, of: node.number, reference.slot..<(reference.slot + 1)))
    }
  }

  /// Makes the bytes between the end of the file and the end of its last chunk zero, before it
  /// grows.
  func clearTail(of node: Node, _ record: InodeRecord, _ size: UInt64) throws(EngineError) {
    let inside = Int(size % UInt64(Layout.chunkSize))
    guard inside != 0 else { return }
    let chunk = size / UInt64(Layout.chunkSize)
    let plain = Buffer(count: Layout.chunkSize)
    try readChunk(of: node, record, chunk, into: plain)
    guard !plain.isZero(inside..<Layout.chunkSize) else { return }
    plain.zero(inside..<Layout.chunkSize)
    try change(node) { (fresh) throws(EngineError) in
      _ = try sealRun(of: node, record, plain.bytes, chunk, &fresh)
    }
  }

  func clearSetID(of node: Node) throws(EngineError) {
    let record = try record(of: node.number)
    guard record.mode & (FileMode.setUser | FileMode.setGroup) != 0 else { return }
    try engine.transact { (transaction) throws(EngineError) in
      try Inodes.change(node.number, in: transaction) { $0.clearSetID() }
    }
  }
}

extension InodeRecord {
  /// What a write or a change of owner does to set-user-id and set-group-id, chown(2).
  mutating func clearSetID() {
    guard !isDirectory else { return }
    mode &= ~FileMode.setUser
    if mode & FileMode.groupExecute != 0 { mode &= ~FileMode.setGroup }
  }
}
