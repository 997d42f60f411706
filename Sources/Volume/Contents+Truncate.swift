import Bytes
import Crypto
import Engine
import Format
import POSIX

extension Volume {
  /// Tables one frame releases; a large file goes in several.
  private static let trimBudget = 64

  /// Sets the size, with `change` in the same frame. With the contents held exclusively.
  ///
  /// To zero: the contents go to an orphan, and the file starts anew with a new key. Smaller: the
  /// size changes in one frame, the chunks beyond are released in as many as it takes. Larger: a
  /// hole.
  func resize(
    _ node: Node, to size: UInt64, _ change: (inout InodeRecord) throws(EngineError) -> Void
  ) throws(EngineError) {
    guard size <= Layout.maximumFileSize else { throw .posix(.fileTooLarge) }
    if size == 0 {
      try empty(node, change)
      return
    }
    // A crash may have left chunks beyond the size: the file must not grow over them.
    try finishTrimming(node)
    let record = try record(of: node.number)
    guard record.isRegular else { throw .posix(record.isDirectory ? .isDirectory : .invalid) }
    let current = node.state.withLock { $0.size } ?? record.size
    if size > current { try clearTail(of: node, record, current) }
    let before = changePending(of: node) { state in
      let cut = state.pending.cut(from: chunkCount(size))
      let before = (size: state.size, written: state.written, cut: cut)
      state.size = size
      state.written = Clock.realtime
      return before
    }
    // What is pending below the size goes first or with it: no frame shows a size without its
    // chunks.
    do throws(EngineError) { try frame(node, images: true, finishing: change) } catch {
      changePending(of: node) { state in
        state.pending.restore(before.cut)
        state.size = before.size
        state.written = before.written
      }
      throw error
    }
    giveBack(before.cut.references)
    try finishTrimming(node)
  }

  private func chunkCount(_ size: UInt64) -> UInt64 { Self.chunks(of: 0..<size).upperBound }

  /// Releases chunks beyond the size that an earlier truncation left, frame by frame.
  func finishTrimming(_ node: Node) throws(EngineError) {
    var isDone = false
    while !isDone {
      let budget = try trimBudget()
      isDone = try engine.transact(frees: true, pages: try trimPages(budget)) {
        (transaction) throws(EngineError) in
        try trim(node.number, budget, in: transaction)
      }.result
    }
  }

  /// Releases so many tables of what lies beyond an inode's size; true if nothing is left.
  func trim(
    _ number: UInt64, _ budget: Int, in transaction: Transaction
  ) throws(EngineError) -> Bool {
    var record = try Inodes.record(of: number, in: transaction)
    guard record.flags.contains(.trimming) else { return true }
    let isDone = try ChunkTree.trim(
      &record, keeping: chunkCount(record.size), budget: budget, in: transaction)
    if isDone {
      record.flags.remove(.trimming)
      if !record.flags.contains(.orphan) { try Orphans.remove(number, in: transaction) }
    }
    try Inodes.store(record, as: number, in: transaction)
    return isDone
  }

  /// Tables the next frame releases: fewer where there is little room for it.
  func trimBudget() throws(EngineError) -> Int {
    try engine.piece(of: Self.trimBudget) { (budget) throws(EngineError) in
      try trimPages(budget)
    }
  }

  /// Pages that the release of so many tables changes at most.
  func trimPages(_ budget: Int) throws(EngineError) -> Int {
    try Engine.usualPages + budget
      + engine.data.mapPages(for: budget * Layout.referencesPerTable)
  }

  private func empty(
    _ node: Node, _ change: (inout InodeRecord) throws(EngineError) -> Void
  ) throws(EngineError) {
    let written = node.state.withLock { $0.size }
    var hadContents = false
    let left = try engine.transact(frees: true) { (transaction) throws(EngineError) in
      var record = try Inodes.record(of: node.number, in: transaction)
      guard record.isRegular else { throw .posix(record.isDirectory ? .isDirectory : .invalid) }
      hadContents = (written ?? record.size) > 0
      if record.flags.contains(.trimming) && !record.flags.contains(.orphan) {
        try Orphans.remove(node.number, in: transaction)
      }
      let leavesOrphan = record.top != 0
      if leavesOrphan {
        try moveToOrphan(&record, in: transaction)
      } else {
        _ = try ChunkTree.trim(&record, keeping: 0, budget: 1, in: transaction)
      }
      record.flags.remove(.trimming)
      record.size = 0
      record.chunks = 0
      record.seed = Random.bytes(32)
      record.seals = 0
      record.stops = stops
      record.keyNumber = 0
      record.rekeyed = 0
      record.flags.remove(.rekeying)
      record.touch(contents: true)
      try change(&record)
      try Inodes.store(record, as: node.number, in: transaction)
      return leavesOrphan
    }.result
    discardPending(of: node)
    node.state.withLock { state in
      state.keys = nil
      state.seals = 0
      state.rekeyed = 0
      state.rekeyingDue = 0
      state.replaces = state.replaces || hadContents
    }
    if left { wakeReaper() }
  }

  /// Hands a file's chunks to a new inode without a name, to be released in the background.
  private func moveToOrphan(
    _ record: inout InodeRecord, in transaction: Transaction
  ) throws(EngineError) {
    var orphan = InodeRecord()
    orphan.mode = FileMode.regular
    orphan.flags = .orphan
    orphan.seed = record.seed
    orphan.height = record.height
    orphan.top = record.top
    orphan.tail = record.tail
    orphan.chunks = record.chunks
    let number = try Inodes.make(orphan, in: transaction)
    try Orphans.add(number, in: transaction)
    record.height = 0
    record.top = 0
    record.tail = [UInt8](repeating: 0, count: 96)
  }
}
