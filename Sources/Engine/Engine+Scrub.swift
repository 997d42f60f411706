package import Bytes
import Crypto
import Disk
package import Format
import POSIX

/// What `coffre verify` asks of the engine: every stored piece looked at, whatever else is damaged.
extension Engine {
  /// One copy of the root, or one journal segment, that is not as it was written.
  package struct ObjectCheck: Hashable, Sendable {
    /// Its name in the vault.
    package let object: String
    /// Where in it, in bytes.
    package let offset: UInt64?
    package let isHealed: Bool
  }

  /// Checks metadata pages and tables in both copies, from a place on. Returns the place to go on
  /// at; nil after the last. A writable engine heals the bad one of two copies.
  package func checkPages(
    from place: UInt64, limit: Int, scratch: CheckScratch, _ body: (PageCheck) -> Void
  ) -> UInt64? {
    store.check(from: place, limit: limit, scratch: scratch, body)
  }

  /// The same for one page and the tables above it.
  package func checkPage(_ id: PageID, scratch: CheckScratch, _ body: (PageCheck) -> Void) {
    store.check(pathTo: id, scratch: scratch, body)
  }

  /// The copies of the root that are missing, cut or not true. An older one is no damage: it is
  /// what a stop between two writes leaves. A writable engine writes a bad copy anew, if the other
  /// is its own.
  package func checkRoots() -> [ObjectCheck] {
    checkpointing.withLock { chain in
      let copies = RootFiles.names.indices.map { try? roots.read($0) }
      return RootFiles.names.indices.filter { copies[$0] == nil }.map { index in
        var isHealed = false
        if let good = copies[1 - index], !isReadOnly, good.tag == chain.rootTag,
          (try? roots.write(good, to: index)) != nil
        {
          chain.copyTags[index] = good.tag
          chain.olderCopy = index
          store.noteHealed()
          isHealed = true
        }
        return ObjectCheck(object: RootFiles.names[index], offset: nil, isHealed: isHealed)
      }
    }
  }

  /// Reads the journal of this session again, up to what was durable when this began. Of a
  /// read-only engine the journal was read when it was opened, and nobody has written since.
  package func checkJournal() -> [ObjectCheck] {
    guard let journal else { return [] }
    return checkpointing.withLock { chain in
      let durable = journal.durableSequence
      var last = chain.root.firstSequence - 1
      var name: SegmentName? = chain.root.segment
      while let current = name, last < durable {
        let object = SegmentCodec.fileName(current.number)
        guard
          let codec = try? master.withSecretIfOpen({
            SegmentCodec(current, master: $0, vault: vault)
          })
        else { return [] }
        let offset: Int
        let image = try? SegmentImage(current.number, of: options.journalSegmentBytes, on: disk)
        let bytes = image?.bytes ?? Buffer(count: 0)
        (name, offset) = follow(codec, bytes, &last, through: durable)
        if name == nil && last < durable {
          return [ObjectCheck(object: object, offset: UInt64(offset), isHealed: false)]
        }
      }
      return []
    }
  }

  /// Goes over the frames of one segment; returns the next segment, if one is named, and where this
  /// one ends.
  private func follow(
    _ codec: SegmentCodec, _ bytes: Buffer, _ last: inout UInt64, through durable: UInt64
  ) -> (next: SegmentName?, end: Int) {
    var offset = 0
    while last < durable, let frame = codec.open(bytes, at: offset) {
      guard frame.payload.load(UInt64.self, at: 0) == last + 1 else { break }
      last += 1
      offset += frame.size
      var reader = ByteReader(frame.payload, in: SegmentCodec.preludeSize..<frame.payload.count)
      while reader.remaining > 0, let record = JournalRecord.decode(&reader) {
        if case .next(let name, then: _) = record { return (name, offset) }
        if case .end = record { break }
      }
    }
    return (nil, offset)
  }

  // MARK: - What is in use

  /// Changes with every frame: what was read between two equal values belongs together. The writer
  /// is held, so that no frame is appended whose pages are still to be published.
  package var changes: UInt64 { writer.withLock { _ in journal?.appendedSequence ?? 0 } }

  /// Metadata slots in use, as the root counts them.
  package var usedMetaSlots: UInt64 { checkpointing.withLock { $0.root.usedMetaSlots } }

  /// Calls `body` for every page of a metadata file that may hold something, in order, until it
  /// returns false. What lies below a table that cannot be read is left out.
  package func forEachPage<E: Error>(
    of file: MetadataFile, _ body: (UInt64) throws(E) -> Bool
  ) throws(E) {
    var changed = store.changedPages(of: file)[...]
    var index: UInt64 = 0
    while true {
      changed = changed.drop { $0 < index }
      let named = store.namedPage(of: file, from: index)
      guard let next = [named, changed.first].compactMap({ $0 }).min(), try body(next) else {
        return
      }
      index = next + 1
    }
  }

  /// Reads one page, of the tables' moment.
  package func page(_ id: PageID) throws(EngineError) -> Buffer {
    try store.tree.withRead { () throws(EngineError) in try store.page(id).bytes }
  }

  /// Maps were rewritten: what the allocators remember of them is read anew. Nothing may be given
  /// out and not yet framed.
  package func forgetMaps() {
    data.allocator.forgetIdle()
    metaAllocator.forgetIdle()
  }
}
