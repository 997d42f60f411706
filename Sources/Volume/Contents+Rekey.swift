import Bytes
import Crypto
import Engine
import Format
import POSIX

/// The keys of a file's chunks: the newest, and while re-keying the one before.
struct FileKeys: Sendable {
  let newest: SealingKey
  let old: SealingKey?

  /// Opens a chunk. Which of the keys it is under shows by its tag, which its reference proves.
  func open(
    _ sealed: Buffer, _ range: Range<Int>, into plain: inout MutableRawSpan,
    _ reference: Reference, _ context: AdditionalData
  ) -> Bool {
    if newest.open(
      sealed, range, into: &plain, iv: reference.iv, tag: reference.tag, additional: context)
    {
      return true
    }
    guard let old else { return false }
    return old.open(
      sealed, range, into: &plain, iv: reference.iv, tag: reference.tag, additional: context)
  }
}

/// Re-keying of contents, a table at a time while the file is written, long before 2^32 seals under
/// one key (SP 800-38D, 8.3).
extension Volume {
  private static let tableChunks = UInt64(Layout.referencesPerTable)

  /// The file's keys, derived once while the node is in memory.
  func keys(of node: Node, _ record: InodeRecord) throws(EngineError) -> FileKeys {
    if let keys = node.state.withLock({ $0.keys }) { return keys }
    let keys = try FileKeys(of: record, engine)
    node.state.withLock { state in
      state.keys = keys
      state.rekeyed = UInt64(record.rekeyed) * Self.tableChunks
    }
    return keys
  }

  /// Takes a new key for a file whose key has done enough. Returns the record as it is then. With
  /// the contents held exclusively.
  ///
  /// The record's count is written with every frame of contents.
  func reserveSeals(
    of node: Node, _ record: InodeRecord, count: Int
  ) throws(EngineError) -> InodeRecord {
    let seals =
      record.seals + lostSeals(record) + node.state.withLock { $0.seals } + UInt64(count)
    guard seals >= engine.options.sealsPerKey else { return record }
    if record.flags.contains(.rekeying) {
      // Twice as much is re-sealed as is written, so this is out of reach.
      guard seals < 1 << 32 else { throw .posix(.fileTooLarge) }
      return record
    }
    let changed = try engine.transact { (transaction) throws(EngineError) in
      var record = try Inodes.record(of: node.number, in: transaction)
      record.keyNumber &+= 1
      record.flags.insert(.rekeying)
      record.rekeyed = 0
      record.seals = 0
      record.stops = stops
      try Inodes.store(record, as: node.number, in: transaction)
      return record
    }.result
    node.state.withLock { state in
      state.keys = nil
      state.seals = 0
    }
    return changed
  }

  /// The vault's unclean stops so far, as records keep them.
  var stops: UInt32 { engine.uncleanStops & (1 << 24 - 1) }

  /// What crashes since the record's last frame may have left uncounted: the journal is synced once
  /// a second, in which fewer than 2^20 seals, 4 GiB, are done.
  func lostSeals(_ record: InodeRecord) -> UInt64 {
    UInt64((stops &- record.stops) & (1 << 24 - 1)) << 20
  }

  /// Seals chunks under the newest key, twice as many as were written. With the contents held
  /// exclusively.
  func rekeySome(of node: Node, after written: Int) {
    node.state.withLock { $0.rekeyingDue += 2 * written }
    // What fails is done with a later write: this one was accepted.
    try? rekeyWhatIsDue(node)
  }

  private func rekeyWhatIsDue(_ node: Node) throws(EngineError) {
    let record = try record(of: node.number)
    _ = try keys(of: node, record)
    let size = node.state.withLock { $0.size } ?? record.size
    let end = Self.chunks(of: 0..<size).upperBound
    while node.state.withLock({ $0.rekeyingDue >= Int(Self.tableChunks) }) {
      let start = node.state.withLock { $0.rekeyed }
      let next = try firstStored(of: node, record, start..<max(start, end))
      guard let next else {
        // Everything is under the newest key once what is pending is framed.
        try frame(node, images: false) { (record) throws(EngineError) in
          record.flags.remove(.rekeying)
          record.rekeyed = 0
        }
        node.state.withLock { state in
          state.keys = nil
          state.rekeyed = 0
          state.rekeyingDue = 0
        }
        return
      }
      let table = next / Self.tableChunks * Self.tableChunks
      try rekey(node, record, table..<min(table + Self.tableChunks, end))
      node.state.withLock { state in
        state.rekeyed = table + Self.tableChunks
        state.rekeyingDue -= Int(Self.tableChunks)
      }
    }
  }

  private func rekey(
    _ node: Node, _ record: InodeRecord, _ chunks: Range<UInt64>
  ) throws(EngineError) {
    let references = try references(of: node, record, chunks)
    let plain = Buffer(count: Layout.chunkSize)
    try change(node) { (fresh) throws(EngineError) in
      for (index, reference) in references.enumerated() where !reference.isHole {
        let chunk = chunks.lowerBound + UInt64(index)
        do throws(EngineError) { try readChunk(of: node, record, chunk, into: plain) } catch {
          // What is damaged stays so under any key. What could only not be read must not lose its
          // key: that error ends this, and a later write tries again.
          guard case .damaged = error else { throw error }
          let slots = reference.slot..<(reference.slot + 1)
          try engine.data.read(slots, into: Buffer(count: Layout.chunkSize), at: 0)
          continue
        }
        _ = try sealRun(of: node, record, plain.bytes, chunk, &fresh)
      }
    }
  }
}
