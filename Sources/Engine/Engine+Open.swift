import Bytes
package import Crypto
package import Disk
import Format
import POSIX

extension Engine {
  static let folders = ["data", "meta-a", "meta-b", "journal"]

  /// Makes the folders, the first segment and both roots of an empty vault.
  ///
  /// What a killed attempt left behind is removed first; the caller writes the configuration last.
  package static func create(
    on disk: any Disk, master: borrowing SecretBytes, vault: [UInt8], options: EngineOptions
  ) throws(EngineError) {
    precondition(vault.count == 16)
    do {
      for folder in folders {
        try disk.createFolder(folder)
        for name in try disk.list(folder) { try disk.remove(folder + "/" + name) }
        try disk.syncFolder(folder)
      }
      let pool = SegmentPool(
        disk: disk, segmentBytes: options.journalSegmentBytes, nextNumber: 1)
      try pool.add()
      guard let first = pool.take() else { preconditionFailure("a segment was just made") }
      try pool.fill()
      SpaceReserve(disk: disk).restore()
      let name = SegmentName(number: first.number, seed: Random.bytes(32))
      var root = RootRecord()
      root.generation = 1
      root.session = Random.bytes(16)
      root.configurationGeneration = options.configurationGeneration
      root.metadataSeed = Random.bytes(32)
      root.segment = name
      root.successor = SegmentName(number: pool.successor, seed: Random.bytes(32))
      let roots = RootFiles(disk: disk, master: master, vault: vault)
      let copy = roots.seal(root)
      try roots.write(copy, to: 0)
      try roots.write(copy, to: 1)
      try disk.syncFolder("")
    } catch {
      if error.isFull { throw .noSpace("no room for a new vault") }
      throw .disk(error)
    }
  }

  /// Opens a vault: takes the newest true root, checks it against the anchor, replays the journal;
  /// then, unless read-only, writes a new root with a segment of this session's own. Where there is
  /// no room for that, the vault is opened read-only.
  package static func open(
    on disk: any Disk, master: borrowing SecretBytes, vault: [UInt8], options: EngineOptions,
    anchor: (any Disk)?
  ) throws(EngineError) -> Engine {
    do throws(EngineError) {
      return try open(disk, master, vault, options, anchor, [])
    } catch {
      guard error.isFull, !options.readOnly else { throw error }
      // From the start: what the first attempt wrote is named by no root, or by one that is true.
      var reading = options
      reading.readOnly = true
      return try open(disk, master, vault, reading, anchor, [.diskFull])
    }
  }

  private static func open(
    _ disk: any Disk, _ master: borrowing SecretBytes, _ vault: [UInt8], _ options: EngineOptions,
    _ anchorDisk: (any Disk)?, _ firstWarnings: [OpenWarning]
  ) throws(EngineError) -> Engine {
    let roots = RootFiles(disk: disk, master: master, vault: vault)
    var (chain, warnings) = try newestRoot(roots, options)
    warnings += firstWarnings
    let found = chain.root
    let anchor = anchorDisk.map { AnchorFile(disk: $0, master: master, vault: vault) }
    let parts = try assemble(
      disk, master, vault, options, roots: roots, anchor: anchor, root: chain.root)
    try checkAnchor(anchor, &chain, parts.store, options, &warnings)
    var recovery = Recovery(
      disk: disk, vault: vault, segmentBytes: options.journalSegmentBytes, store: parts.store,
      root: found, passesLost: options.readOnly)
    try recovery.run(master: master)
    try checkEnd(of: recovery, options, &warnings)
    if !options.readOnly {
      try settle(roots, &chain, equal: !warnings.contains(.rootCopyHealed))
    }
    try recovery.publish(to: parts.data, writable: !options.readOnly)
    return try finishOpening(parts, chain, warnings, recovery)
  }

  /// A gap in the journal is for a person to decide on, before anything is written.
  private static func checkEnd(
    of recovery: Recovery, _ options: EngineOptions, _ warnings: inout [OpenWarning]
  ) throws(EngineError) {
    guard let gap = recovery.gap else {
      if recovery.hasChanges { warnings.append(.recovered(frames: recovery.frames)) }
      return
    }
    guard options.readOnly || options.acceptJournalLoss else { throw .journalDamaged(gap) }
    warnings.append(options.readOnly ? .journalCut(gap) : .journalLossAccepted(gap))
  }

  private static func newestRoot(
    _ roots: RootFiles, _ options: EngineOptions
  ) throws(EngineError) -> (Chain, [OpenWarning]) {
    let copies = [try roots.read(0), try roots.read(1)]
    let best = copies.indices.filter { copies[$0] != nil }.max { left, right in
      (copies[left]?.record.generation ?? 0) < (copies[right]?.record.generation ?? 0)
    }
    guard let best, let copy = copies[best] else { throw .damaged("both copies of the root") }
    let other = copies[1 - best]
    let equal = other.map { $0.record.generation == copy.record.generation } ?? false
    if copy.record.configurationGeneration > options.configurationGeneration {
      throw .olderConfiguration(
        presented: options.configurationGeneration, known: copy.record.configurationGeneration)
    }
    let chain = Chain(
      root: copy.record, rootTag: copy.tag, copyTags: copies.map { $0?.tag },
      olderCopy: 1 - best, anchorCounter: 0)
    return (chain, equal ? [] : [.rootCopyHealed])
  }

  /// Makes the newest root durable in both copies, before anything else is written (I6).
  ///
  /// Whoever wrote a copy may have been killed before its sync: what is read is not on the disk
  /// yet, and a power loss could bring back a root whose segment has another use by then.
  private static func settle(
    _ roots: RootFiles, _ chain: inout Chain, equal: Bool
  ) throws(EngineError) {
    let (older, newest) = (chain.olderCopy, 1 - chain.olderCopy)
    var isDisplaced = false
    do {
      try roots.sync(newest)
      if equal { return try roots.sync(older) }
    } catch {
      guard error.displaced != nil else { throw .disk(error) }
      isDisplaced = true
    }
    guard let copy = try roots.read(newest) else { throw .damaged("both copies of the root") }
    do {
      try roots.write(copy, to: older)
      if isDisplaced { try roots.write(copy, to: newest) }
    } catch { throw .disk(error) }
    chain.copyTags = [copy.tag, copy.tag]
  }

  private static func assemble(
    _ disk: any Disk, _ master: borrowing SecretBytes, _ vault: [UInt8], _ options: EngineOptions,
    roots: RootFiles, anchor: AnchorFile?, root: RootRecord
  ) throws(EngineError) -> EngineParts {
    let meta = Containers(disk: disk, folders: ["meta-a", "meta-b"])
    let store = PageStore(
      containers: meta, keys: metadataKeys(root, master: master, vault: vault), tops: root.tops,
      cachePages: options.cacheBytes / Layout.chunkSize, heals: !options.readOnly)
    let backed: UInt32
    do { backed = try meta.backedSlots() } catch { throw .disk(error) }
    let data = DataSpace(
      containers: Containers(disk: disk, folders: ["data"]),
      allocator: SlotAllocator(limit: UInt64(UInt32.max), read: reader(of: .dataMap, store)))
    return EngineParts(
      disk: disk, options: options, vault: vault, master: SecretBox(master.clone(), vault: vault),
      roots: roots,
      anchor: anchor, meta: meta,
      metaAllocator: SlotAllocator(limit: UInt64(backed), read: reader(of: .metaMap, store)),
      journal: nil, store: store, data: data, warnings: [], writer: Writer(),
      segments: SegmentPool(
        disk: disk, segmentBytes: options.journalSegmentBytes,
        nextNumber: root.segment.number + 1),
      chain: Chain(
        root: root, rootTag: Tag(low: 0, high: 0), copyTags: [], olderCopy: 0, anchorCounter: 0),
      health: Health(metaUsed: root.usedMetaSlots))
  }

  private static func reader(
    of file: MetadataFile, _ store: PageStore
  ) -> SlotAllocator.MapReader {
    { (index) throws(EngineError) in
      let page = try store.pageForWriter(PageID(file, index))
      return (0..<512).map { page.bytes.load(UInt64.self, at: $0 * 8) }
    }
  }

  private static func finishOpening(
    _ parts: EngineParts, _ chain: Chain, _ warnings: [OpenWarning], _ recovery: Recovery
  ) throws(EngineError) -> Engine {
    var parts = parts
    parts.chain = chain
    let stops =
      (recovery.hasChanges ? 1 : 0) + (recovery.gap != nil ? Self.stopsOfALostJournal : 0)
    parts.chain.root.uncleanStops &+= stops
    // An abandoned checkpoint may have sealed so much that no root counts.
    parts.chain.root.metadataSeals += UInt64(stops) << 16
    parts.warnings = warnings
    if parts.options.readOnly {
      parts.health.readOnly =
        warnings.contains(.diskFull)
        ? "there was no room to open the vault for writing" : "the vault is mounted read-only"
      return Engine(parts)
    }
    // The first frame of this session goes to a segment of its own, named by the root written next.
    let name: SegmentName
    let successor: SegmentName
    do {
      for folder in folders { try parts.disk.createFolder(folder) }
      // A root copy may have been made by somebody who was killed before its name lasted.
      try parts.disk.syncFolder("")
      try parts.segments.adopt(
        except: recovery.segments, isDoubtful: recovery.gap != nil)
      if parts.segments.count == 0 { try parts.segments.add() }
      guard let first = parts.segments.take() else { preconditionFailure("a spare was made") }
      name = SegmentName(number: first.number, seed: Random.bytes(32))
      successor = SegmentName(number: parts.segments.successor, seed: Random.bytes(32))
      let codec = parts.master.withSecret { SegmentCodec(name, master: $0, vault: parts.vault) }
      parts.journal = Journal(
        segment: (codec, first.file), successor: successor,
        segmentBytes: parts.options.journalSegmentBytes, nextSequence: recovery.lastSequence + 1,
        previous: recovery.lastTag)
    } catch {
      if error.isFull { throw .noSpace("no room to start a journal") }
      throw .disk(error)
    }
    let engine = Engine(parts)
    try engine.beginSession(name, successor, recovery)
    return engine
  }

  /// Writes the first root of this session: the recovered state, a new lineage entry, the new
  /// segment.
  private func beginSession(
    _ segment: SegmentName, _ successor: SegmentName, _ recovery: Recovery
  ) throws(EngineError) {
    wipe(recovery.wipes)
    try checkpointing.withLock { chain throws(EngineError) in
      chain.root.session = Random.bytes(16)
      chain.root.configurationGeneration = max(
        chain.root.configurationGeneration, options.configurationGeneration)
      try appendLineage(&chain, from: recovery.root.generation)
      // As much again is there for names and attributes on a disk that is full later. Where it is
      // full already, what the last session left is enough as a rule: the plan tells.
      if try !makeMetaRoom(for: checkpointNeed() + 2 * Self.metaReserve) {
        _ = try makeMetaRoom(for: checkpointNeed())
      }
      let snapshot = Snapshot(
        pages: store.snapshot(), segment: segment, successor: successor,
        firstSequence: recovery.lastSequence + 1, previous: recovery.lastTag,
        oldSegments: recovery.segments)
      writer.withLock { $0.segments = [segment.number] }
      try writeCheckpoint(&chain, snapshot)
    }
  }

  /// A lost journal counts as so many unclean stops, since it may have held the seal counts of many
  /// frames: 2^26 seals, more than a machine does between two checkpoints.
  private static let stopsOfALostJournal: UInt32 = 64

  /// `from` is the generation of the root that was found.
  private func appendLineage(_ chain: inout Chain, from: UInt64) throws(EngineError) {
    var index = chain.root.lineageCount
    let page: Buffer
    do throws(EngineError) {
      page = Buffer(copying: try store.pageForWriter(PageID(.lineage, UInt32(index / 128))).bytes)
    } catch {
      guard case .damaged = error, options.acceptOlder else { throw error }
      // Who accepts an older state does without the lineage: it goes on behind the lost page.
      index = (index / 128 + 1) * 128
      page = Buffer(count: Layout.chunkSize)
    }
    let id = PageID(.lineage, UInt32(index / 128))
    let offset = Int(index % 128) * 32
    page.store(chain.root.session, at: offset)
    // The session's first root is the one after this.
    page.store(chain.root.generation + 1, at: offset + 16)
    page.store(from, at: offset + 24)
    store.publish([id: Page(page)])
    chain.root.lineageCount = index + 1
  }

  /// Writes the last root, wipes what it freed, and forgets the keys. Nothing may use the engine
  /// after.
  package func close() throws(EngineError) {
    stopCheckpointer()
    var failure: EngineError?
    do throws(EngineError) {
      if isReadOnly {
        if !options.readOnly { try closeReadOnly() }
      } else {
        try checkpoint()
        do { try meta.sync() } catch { throw .disk(error) }
      }
    } catch {
      failure = error
      // Without a root it is the journal that keeps what was done last.
      try? syncJournal()
    }
    // Not under a checkpoint that began late and goes on.
    checkpointing.withLock { _ in
      health.withLock { $0.closed = true }
      master.wipe()
      store.forget()
    }
    SealingKey.forgetContexts()
    Random.wipePool()
    if let failure { throw failure }
  }

  /// A volume that had to stop: what was appended may be lost, and whoever closes it is told.
  private func closeReadOnly() throws(EngineError) {
    try? syncJournal()
    try checkWritable()
  }

  /// The configuration changed: the next root and the anchor say so, at once.
  package func noteConfiguration(generation: UInt64) throws(EngineError) {
    checkpointing.withLock { $0.root.configurationGeneration = generation }
    try checkpoint()
  }
}
