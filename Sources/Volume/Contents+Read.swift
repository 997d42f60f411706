import Bytes
import Crypto
import Engine
import Format
import POSIX

/// The additional data of a file's chunk: its place in this file. The key says which file.
func chunkContext(_ inode: UInt64, _ chunk: UInt64) -> AdditionalData {
  AdditionalData(kind: SealedKind.chunk, inode, chunk)
}

extension Volume {
  /// Reads into the span; short only at the end of the file.
  package func read(
    _ inode: InodeNumber, into span: inout MutableRawSpan, at offset: UInt64
  ) throws(VolumeError) -> Int {
    do {
      return try nodes.with(inode.rawValue) { (node) throws(EngineError) in
        try node.content.withRead { () throws(EngineError) in
          try readContents(of: node, into: &span, at: offset)
        }
      }
    } catch { throw failure(error) }
  }

  /// With the node's contents held.
  func readContents(
    of node: Node, into span: inout MutableRawSpan, at offset: UInt64
  ) throws(EngineError) -> Int {
    let record = try record(of: node.number)
    guard record.isRegular else { throw .posix(record.isDirectory ? .isDirectory : .invalid) }
    let size = node.state.withLock { $0.size } ?? record.size
    guard offset < size else { return 0 }
    let length = Int(min(UInt64(span.byteCount), size - offset))
    let chunkSize = UInt64(Layout.chunkSize)
    let first = offset / chunkSize
    let last = (offset + UInt64(length) + chunkSize - 1) / chunkSize
    let references = try references(of: node, record, first..<last)
    let keys = try keys(of: node, record)
    var done = 0
    while done < length {
      let position = offset + UInt64(done)
      let chunk = position / chunkSize
      let inside = Int(position % chunkSize)
      let run = runLength(references, from: Int(chunk - first))
      let bytes = min(run * Layout.chunkSize - inside, length - done)
      var part = span._mutatingExtracting(done..<(done + bytes))
      try readRun(
        node.number, keys, references[Int(chunk - first)..<(Int(chunk - first) + run)], chunk,
        inside, into: &part)
      done += bytes
    }
    // Whoever was held up until after a lock gets nothing.
    try engine.checkOpen()
    return length
  }

  /// How many references from `start` on are holes, or lie in consecutive slots of one container.
  private func runLength(_ references: [Reference], from start: Int) -> Int {
    let first = references[start]
    var count = 1
    while start + count < references.count, count < ScratchPool.size / Layout.chunkSize {
      let next = references[start + count]
      if first.isHole {
        guard next.isHole else { break }
      } else {
        guard next.slot == first.slot &+ UInt32(count),
          next.slot % Layout.slotsPerContainer != 0
        else { break }
      }
      count += 1
    }
    return count
  }

  /// Reads a run whose first chunk begins `inside` bytes before the span.
  private func readRun(
    _ inode: UInt64, _ keys: FileKeys, _ references: ArraySlice<Reference>, _ chunk: UInt64,
    _ inside: Int, into span: inout MutableRawSpan
  ) throws(EngineError) {
    guard let first = references.first else { return }
    if first.isHole {
      span.zero(0..<span.byteCount)
      return
    }
    let count = span.byteCount
    let sealed = scratch.take()
    defer { scratch.giveBack(sealed) }
    try engine.data.read(first.slot..<(first.slot + UInt32(references.count)), into: sealed, at: 0)
    var done = 0
    for (index, reference) in references.enumerated() {
      let range = (index * Layout.chunkSize)..<((index + 1) * Layout.chunkSize)
      let skip = index == 0 ? inside : 0
      let bytes = min(Layout.chunkSize - skip, count - done)
      guard bytes > 0 else { break }
      let context = chunkContext(inode, chunk + UInt64(index))
      let isTrue: Bool
      if bytes == Layout.chunkSize {
        var whole = span._mutatingExtracting(done..<(done + bytes))
        isTrue = keys.open(sealed, range, into: &whole, reference, context)
      } else {
        let plain = Buffer(count: Layout.chunkSize)
        var whole = plain.mutableBytes(in: 0..<Layout.chunkSize)
        isTrue = keys.open(sealed, range, into: &whole, reference, context)
        span.copy(from: plain, skip..<(skip + bytes), to: done)
      }
      guard isTrue else {
        throw .damaged(
          Self.describe(
            chunk + UInt64(index), of: inode, reference.slot..<(reference.slot + 1)))
      }
      done += bytes
    }
  }

  /// A stored chunk in words, without names.
  static func describe(_ chunk: UInt64, of inode: UInt64, _ slots: Range<UInt32>) -> String {
    "chunk \(chunk) of inode \(inode), " + DataSpace.describe(slots)
  }

  /// The newest references of a range: what is pending, else what frames say.
  func references(
    of node: Node, _ record: InodeRecord, _ chunks: Range<UInt64>
  ) throws(EngineError) -> [Reference] {
    var found = try engine.read { (pages) throws(EngineError) in
      try ChunkTree.references(of: record, chunks, in: pages)
    }
    node.state.withLock { state in
      guard !state.pending.isEmpty else { return }
      for chunk in chunks {
        if let pending = state.pending[chunk] {
          found[Int(chunk - chunks.lowerBound)] = pending
        }
      }
    }
    return found
  }

  /// The first chunk of a range that is stored, by frames or in what is pending.
  func firstStored(
    of node: Node, _ record: InodeRecord, _ chunks: Range<UInt64>
  ) throws(EngineError) -> UInt64? {
    let pending = node.state.withLock { $0.pending }
    let written = pending.firstStored(from: chunks.lowerBound) ?? UInt64.max
    let framed = try engine.read { (pages) throws(EngineError) -> UInt64 in
      var next = chunks.lowerBound
      while next < chunks.upperBound, next < written {
        guard
          let chunk = try ChunkTree.firstStored(of: record, from: next, in: pages)
        else { break }
        // A pending hole takes its place.
        if pending[chunk] == nil { return chunk }
        next = chunk + 1
      }
      return UInt64.max
    }
    let first = min(written, framed)
    return first < chunks.upperBound ? first : nil
  }
}
