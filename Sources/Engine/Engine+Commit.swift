import Bytes
import Crypto
import Disk
import Format
import POSIX

extension Engine {
  /// Runs a change of the metadata, whole or not at all, and appends its frame before it returns.
  ///
  /// What `body` throws undoes it. `frees` says that it gives space back: it may use the reserve;
  /// `pages` is how many pages it changes at most.
  /// The sequence is for `sync(through:)`; 0 if nothing changed.
  @discardableResult
  package func transact<R>(
    frees: Bool = false, pages: Int = usualPages, _ body: (Transaction) throws(EngineError) -> R
  ) throws(EngineError) -> (result: R, sequence: UInt64) {
    while true {
      try makeRoom(frees: frees, pages: pages)
      let done = try writer.withLock {
        (writer) throws(EngineError) -> (result: R, sequence: UInt64, isDue: Bool)? in
        // Others may have taken meanwhile what there was room for.
        guard hasJournalRoom, hasRoom(frees: frees, pages: pages) else { return nil }
        let transaction = Transaction(
          store: store, nextPage: writer.nextPage, nextInode: writer.nextInode)
        let result = try body(transaction)
        if transaction.isEmpty { return (result, 0, false) }
        let sequence = try commit(transaction, &writer)
        writer.nextPage = transaction.nextPage
        writer.nextInode = transaction.nextInode
        return (result, sequence, isCheckpointDue)
      }
      if let done {
        if done.isDue { requestCheckpoint() }
        return (done.result, done.sequence)
      }
      try makeJournalRoomIfNone()
    }
  }

  /// Reads pages of one moment.
  package func read<R>(
    _ body: (CommittedPages) throws(EngineError) -> R
  ) throws(EngineError) -> R {
    try checkOpen()
    return try store.tree.withRead { () throws(EngineError) in
      try body(CommittedPages(store: store))
    }
  }

  private var isCheckpointDue: Bool {
    (journal?.filled ?? 0) * 2 > UInt64(options.journalSegmentBytes)
      || store.dirtyCount > Self.dirtyLimit
  }

  /// Pages changed since the last root at which a checkpoint starts: 16 MiB.
  static let dirtyLimit = 4096

  private func commit(
    _ transaction: Transaction, _ writer: inout Writer
  ) throws(EngineError) -> UInt64 {
    guard let journal else { throw .readOnly("the vault is mounted read-only") }
    try checkWritable()
    encode(transaction, &writer.records)
    defer { writer.records.clear() }
    precondition(writer.records.count <= Journal.maximumPayload - SegmentCodec.preludeSize)
    if !journal.fits(writer.records.count) { try startSegment(&writer) }
    do throws(EngineError) {
      for slots in transaction.released { try data.allocator.release(slots) }
    } catch {
      // Some may be released that are still named: they must not be given out.
      turnReadOnly("the map of free space cannot be read")
      throw error
    }
    let sequence: UInt64
    do { sequence = try journal.append(writer.records.buffer, writer.records.count) } catch {
      turnReadOnly("writing the journal failed: \(error.errno.description)")
      throw .disk(error)
    }
    store.publish(transaction.published)
    for slots in transaction.taken { data.allocator.confirm(slots) }
    return sequence
  }

  private func encode(_ transaction: Transaction, _ writer: inout ByteWriter) {
    for id in transaction.dropped { JournalRecord.encodeDrop(id, to: &writer) }
    for (id, draft) in transaction.drafts {
      if draft.isFresh { JournalRecord.encodeFresh(id, to: &writer) }
      for range in draft.ranges {
        JournalRecord.encodeWrite(
          id, offset: range.lowerBound, of: draft.bytes, length: range.count, to: &writer)
      }
    }
    for image in transaction.images {
      JournalRecord.encodeImage(
        slot: image.slot, of: image.bytes, at: image.offset, to: &writer)
    }
  }

  /// Goes on in a spare segment; the frames so far stay valid until a root contains them.
  func startSegment(_ writer: inout Writer) throws(EngineError) {
    guard let journal else { preconditionFailure("a read-only engine has no segments") }
    // After a failure here the spare that was promised is gone.
    try checkWritable()
    guard let spare = segments.take() else { throw .noSpace("no room for the journal") }
    let name = journal.successor
    precondition(name.number == spare.number, "spares are taken in the order of their numbers")
    let then = SegmentName(number: segments.successor, seed: Random.bytes(32))
    let codec = try master.withSecretIfOpen { SegmentCodec(name, master: $0, vault: vault) }
    do throws(DiskError) { try journal.switchTo(codec, spare.file, then: then) } catch {
      turnReadOnly("writing the journal failed: \(error.errno.description)")
      throw .disk(error)
    }
    writer.segments.append(spare.number)
  }

  /// Makes a frame and all before it durable.
  package func sync(through sequence: UInt64) throws(EngineError) {
    guard let journal, sequence > 0 else { return }
    do { try journal.sync(through: sequence) } catch {
      turnReadOnly("a sync of the journal failed: \(error.errno.description)")
      throw .disk(error)
    }
  }

  /// Makes every frame appended so far durable.
  package func syncJournal() throws(EngineError) {
    guard let journal else { return }
    try sync(through: journal.appendedSequence)
  }

  /// Makes every data slot written so far durable.
  package func syncData() throws(EngineError) {
    do { try data.containers.sync() } catch {
      turnReadOnly("a sync of file contents failed: \(error.errno.description)")
      throw .disk(error)
    }
  }
}

extension Transaction {
  /// What becomes the newest when the frame is appended.
  var published: [PageID: Page?] {
    var pages: [PageID: Page?] = [:]
    for (id, draft) in drafts { pages[id] = .some(Page(draft.bytes)) }
    for id in dropped { pages[id] = .some(nil) }
    return pages
  }
}

extension Engine {
  /// What the lower filesystem has free, in bytes.
  package func freeBytes() throws(EngineError) -> UInt64 {
    do { return try disk.space().free } catch { throw .disk(error) }
  }

  /// Whether the lower filesystem has less than 64 MiB left.
  package var isShortOfSpace: Bool { (try? disk.space().free < 64 << 20) ?? false }
}
