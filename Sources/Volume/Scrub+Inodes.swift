import Bytes
import Engine
import Format
import POSIX

/// Inodes, and what hangs on each: attributes, targets, chunks.
extension Scrub {
  /// Every record of the inode table.
  func checkInodes() throws(EngineError) {
    try engine.forEachPage(of: .inodes) { (index) throws(EngineError) in
      try tick()
      let first = index * Layout.inodesPerPage
      guard let page = try? engine.page(PageID(.inodes, UInt32(index))) else {
        for number in first..<(first + Layout.inodesPerPage) where isInUse(number) {
          blame(inode: number)
        }
        return true
      }
      for number in first..<(first + Layout.inodesPerPage) where number > 0 {
        let record = InodeRecord(from: page, at: Inodes.offset(of: number))
        if record.mode != 0 { try check(number, record) }
      }
      return true
    }
    flushJob()
  }

  /// Whether the map says so, as far as it can be read.
  private func isInUse(_ number: UInt64) -> Bool {
    let id = PageID(.inodeMap, UInt32(number / Layout.bitsPerPage))
    guard let map = try? engine.page(id) else { return false }
    let bit = Int(number % Layout.bitsPerPage)
    return map.load(UInt8.self, at: bit / 8) >> UInt8(bit % 8) & 1 == 1
  }

  /// One inode in use.
  func check(_ number: UInt64, _ record: InodeRecord) throws(EngineError) {
    types[number] = UInt8(truncatingIfNeeded: record.type >> 12)
    inodes.insert(number)
    // Authentic, and yet none: what it names is unknown, and its numbers may overflow.
    guard record.isSound else { return blame(inode: number) }
    try checkAttributes(number, record)
    switch record.type {
    case FileMode.regular:
      report.files += 1
      try checkFile(number, record)
    case FileMode.directory: report.directories += 1
    case FileMode.symlink:
      report.others += 1
      checkTarget(number, record)
    case FileMode.fifo, FileMode.character, FileMode.block, FileMode.socket: report.others += 1
    default: relate(.structure, "it is of no known type") { $0.inode = number }
    }
  }

  private func checkTarget(_ number: UInt64, _ record: InodeRecord) {
    guard record.top != 0 else { return }
    mark(record.top, of: number)
    if (try? engine.page(PageID(.pages, record.top))) == nil {
      blame(PageID(.pages, record.top)) { damage in
        damage.noun = "symlink"
        damage.inode = number
        damage.detail = "its target is lost"
      }
    }
  }

  private func checkAttributes(_ number: UInt64, _ record: InodeRecord) throws(EngineError) {
    guard record.attributePage != 0 else { return }
    var found: [UInt32] = []
    var lost: UInt32?
    // Of one moment, as the chain may be written anew.
    try? engine.read { (pages) throws(EngineError) in
      let record = try Inodes.record(of: number, in: pages)
      var page = record.attributePage
      // The longest list takes 33 pages.
      while page != 0 && found.count < 64 {
        found.append(page)
        lost = page
        page = try pages.read(PageID(.pages, page)).load(UInt32.self, at: 0)
        lost = nil
      }
    }
    for page in found { mark(page, of: number) }
    if let lost {
      blame(PageID(.pages, lost)) { damage in
        damage.noun = Self.noun(record.type)
        damage.inode = number
        damage.detail = "some of its extended attributes are lost"
      }
    }
  }

  static func noun(_ type: UInt32) -> String {
    switch type {
    case FileMode.regular: "file"
    case FileMode.directory: "directory"
    case FileMode.symlink: "symlink"
    default: "special file"
    }
  }

  // MARK: - Files

  private func checkFile(_ number: UInt64, _ record: InodeRecord) throws(EngineError) {
    // What lies beyond the size, or has no name and no user, is to be released: no loss.
    let isGone = record.flags.contains(.orphan) && !volume.nodes.isKnown(number)
    let reads = readsData && !isGone && record.chunks > 0
    let keys = reads ? try FileKeys(of: record, engine) : nil
    let end = Volume.chunks(of: 0..<record.size).upperBound
    let direct = (0..<Int(Layout.directReferences)).map { index in
      if let reference = try? ChunkTree.direct(record, index) { return reference }
      relate(.structure, "a reference in it is none") { $0.inode = number }
      return Reference.hole
    }
    take(direct, at: 0, of: number, keys, end)
    var marked: Set<UInt32> = []
    var chunk: UInt64? = Layout.directReferences
    while let current = chunk {
      try tick()
      var visited: [UInt32] = []
      let step: ChunkTree.Step?
      do throws(EngineError) {
        step = try engine.read { (pages) throws(EngineError) in
          let record = try Inodes.record(of: number, in: pages)
          return record.isRegular
            ? ChunkTree.step(of: record, from: current, in: pages) { visited.append($0) } : nil
        }
      } catch {
        try blameUnlessGone(number, error)
        return
      }
      for page in visited where marked.insert(page).inserted { mark(page, of: number) }
      guard let found = step else { return }
      if let page = found.lost {
        blame(PageID(.pages, page)) { damage in
          damage.noun = "file"
          damage.inode = number
          damage.range = Damage.bytes(current..<max(current + 1, min(found.next, end)))
          damage.detail = "their references are lost"
        }
      }
      take(found.references, at: current, of: number, keys, end)
      chunk = found.next
    }
  }

  /// What an inode names is unknown if its record cannot be read, and nothing if it is gone by now.
  /// Throws what is over in a moment: it says nothing of what is stored.
  func blameUnlessGone(_ number: UInt64, _ error: EngineError) throws(EngineError) {
    if case .posix = error { return }
    guard error.isUnreadable else { throw error }
    blame(inode: number)
  }

  /// Notes slots in use, and gives what is below the size to the checker.
  private func take(
    _ references: [Reference], at chunk: UInt64, of number: UInt64, _ keys: FileKeys?,
    _ end: UInt64
  ) {
    if isWhole {
      for (index, reference) in references.enumerated() where !reference.isHole {
        guard !slots.insert(UInt64(reference.slot)) else { continue }
        let place = chunk + UInt64(index)
        relate(.structure, "its slot is used twice") { damage in
          damage.objects = [Containers.name(of: reference.slot, in: "data")]
          damage.slot = Containers.place(of: reference.slot)
          damage.noun = "file"
          damage.inode = number
          damage.range = Damage.bytes(place..<(place + 1))
        }
      }
    }
    guard let keys, chunk < end else { return }
    let inside = references.prefix(Int(min(end - chunk, UInt64(references.count))))
    guard inside.contains(where: { !$0.isHole }) else { return }
    job.append(
      ChunkChecker.Piece(inode: number, keys: keys, chunk: chunk, references: Array(inside)))
    jobChunks += inside.count
    if jobChunks >= ChunkChecker.jobChunks { flushJob() }
  }

  func flushJob() {
    guard !job.isEmpty else { return }
    checker.submit(job)
    job = []
    jobChunks = 0
    recheck()
  }

  /// Waits for the threads.
  func finishData() throws(EngineError) {
    flushJob()
    if !options.isQuick {
      while !checker.isDone(within: 100_000_000) { try tick() }
    }
    recheck()
    report.chunks = checker.checked
    joinChunks()
  }

  /// A piece that failed is damaged if it fails with what names it held (I7).
  private func recheck() {
    for suspect in checker.takeSuspects() {
      guard let slot = volume.damagedSlot(of: suspect.inode, suspect.chunk) else { continue }
      add(Damage(chunks: suspect.chunk..<(suspect.chunk + 1), of: suspect.inode, at: slot))
    }
  }

  /// Neighbours become one line.
  private func joinChunks() {
    let chunks = report.damages.filter { $0.kind == .chunk }.sorted { left, right in
      (left.inode ?? 0, left.range?.lowerBound ?? 0)
        < (right.inode ?? 0, right.range?.lowerBound ?? 0)
    }
    // Places in the report change, and nobody looks for them any more.
    report.damages.removeAll { $0.kind == .chunk }
    let first = report.damages.count
    for damage in chunks {
      let last = report.damages.count - 1
      if last >= first, report.damages[last].continues(in: damage), let range = damage.range,
        let before = report.damages[last].range
      {
        report.damages[last].range = before.lowerBound..<range.upperBound
      } else {
        report.damages.append(damage)
      }
    }
  }
}

extension Damage {
  /// Whether another piece lies right behind this one, in the file and in the object.
  fileprivate func continues(in next: Damage) -> Bool {
    guard inode == next.inode, objects == next.objects, let range, let nextRange = next.range,
      range.upperBound == nextRange.lowerBound, let slot, let nextSlot = next.slot
    else { return false }
    return UInt64(nextSlot - min(nextSlot, slot)) * UInt64(Layout.chunkSize) == UInt64(range.count)
  }
}

extension FileKeys {
  init(of record: InodeRecord, _ engine: Engine) throws(EngineError) {
    newest = try engine.fileKey(seed: record.seed, number: record.keyNumber)
    old =
      record.flags.contains(.rekeying)
      ? try engine.fileKey(seed: record.seed, number: record.keyNumber &- 1) : nil
  }
}

extension Volume {
  /// The slot of a chunk that does not authenticate while nobody changes it; nil if all is well, or
  /// it is gone.
  func damagedSlot(of number: UInt64, _ chunk: UInt64) -> UInt32? {
    try? nodes.with(number) { (node) throws(EngineError) in
      try node.content.withRead { () throws(EngineError) -> UInt32? in
        let record = try record(of: number)
        guard record.isRegular,
          let reference = try references(of: node, record, chunk..<(chunk + 1)).first,
          !reference.isHole
        else { return nil }
        let keys = try FileKeys(of: record, engine)
        let sealed = Buffer(count: Layout.chunkSize)
        let plain = Buffer(count: Layout.chunkSize)
        let slots = reference.slot..<(reference.slot + 1)
        guard (try? engine.data.read(slots, into: sealed, at: 0)) != nil else {
          return reference.slot
        }
        var target = plain.mutableBytes(in: 0..<Layout.chunkSize)
        let isTrue = keys.open(
          sealed, 0..<Layout.chunkSize, into: &target, reference, chunkContext(number, chunk))
        return isTrue ? nil : reference.slot
      }
    }
  }
}
