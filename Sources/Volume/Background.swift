import Engine
import Format
import POSIX

/// What the volume's background threads have to do.
struct BackgroundState: Sendable {
  /// The list of orphans, which is in the volume, may hold something to release.
  var mayReap = false
  var stopping = false
  var running = 0
}

extension Volume {
  /// How long contents stay without a frame: a crash loses at most what was written in this time.
  private static let framingInterval: UInt64 = 1_000_000_000
  /// How long a deleted file waits for others: many are released by one frame, and by a thread that
  /// takes turns with whoever deletes them.
  private static let reapDelay: UInt64 = 100_000_000
  /// The most deleted files that one frame releases.
  private static let reapBatch = 32
  /// When what could not be released, on a full disk say, is tried again.
  private static let retryInterval: UInt64 = 5_000_000_000

  /// Starts the thread that frames contents once a second and the one that releases orphans.
  func startBackground() {
    let threads: [(String, @Sendable () -> Void)] = [
      ("coffre-frame", { [self] in frameLoop() }), ("coffre-reap", { [self] in reapLoop() }),
    ]
    for (name, body) in threads {
      background.withLock { $0.running += 1 }
      do { try Thread.start(name, body) } catch {
        background.withLock { $0.running -= 1 }
        engine.turnReadOnly("starting a thread failed: \(error.description)")
      }
    }
    let left = try? engine.read { (pages) throws(EngineError) in
      try Orphans.first(1, after: 0, in: pages)
    }
    // What a crash left behind goes first.
    if left?.isEmpty == false { wakeReaper() }
  }

  func stopBackground() {
    background.withLock { $0.stopping = true }
    background.withLock(when: { $0.running == 0 }, timeout: nil) { _ in }
  }

  func wakeReaper() { background.withLock { $0.mayReap = true } }

  private func frameLoop() {
    while true {
      let stop = background.withLock(
        when: { $0.stopping }, timeout: Self.framingInterval
      ) { $0.stopping }
      if stop { break }
      guard !engine.isReadOnly else { continue }
      try? frameAll()
      // So that a crash loses a second and no more, names and attributes too.
      try? engine.syncJournal()
    }
    background.withLock { $0.running -= 1 }
  }

  private func reapLoop() {
    var failed = false
    while true {
      let stop = background.withLock(
        when: { $0.stopping || $0.mayReap }, timeout: failed ? Self.retryInterval : nil
      ) { state in
        state.mayReap = false
        return state.stopping
      }
      if stop || waitForMore() { break }
      failed = reapOrphans(goesOn: { !self.isStopping }) != nil && !engine.isReadOnly
    }
    background.withLock { $0.running -= 1 }
  }

  /// Whether to stop.
  private func waitForMore() -> Bool {
    background.withLock(when: { $0.stopping }, timeout: Self.reapDelay) { $0.stopping }
  }

  /// Releases what the orphan list holds and nobody knows, while `goesOn`. What cannot be released
  /// stays on the list; the first failure is returned.
  @discardableResult
  func reapOrphans(goesOn: () -> Bool = { true }) -> EngineError? {
    var failure: EngineError?
    var after: UInt64 = 0
    do throws(EngineError) {
      while goesOn() {
        let batch = try engine.read { (pages) throws(EngineError) in
          try Orphans.first(Self.reapBatch, after: after, in: pages)
        }
        guard let last = batch.last else { break }
        after = last
        let numbers = batch.filter { !nodes.isKnown($0) }
        if (try? reapTogether(numbers)) == true { continue }
        for number in numbers where goesOn() {
          do throws(EngineError) { try reap(number) } catch { failure = failure ?? error }
        }
      }
    } catch { failure = failure ?? error }
    return failure
  }

  /// Frees inodes in one frame if each is small: most are, and a frame costs more than what is in
  /// it. False if some are left.
  private func reapTogether(_ numbers: [UInt64]) throws(EngineError) -> Bool {
    guard numbers.count > 1 else { return false }
    for number in numbers {
      let record = try record(of: number)
      guard record.flags.contains(.orphan), record.height <= 1, record.attributePage == 0 else {
        return false
      }
    }
    for number in numbers { try settle(number) }
    var released = 0
    // Of each: its table, and the maps of chunks, as for a large file; its record, and the maps of
    // numbers and pages.
    let pages = try trimPages(numbers.count) + 4 * numbers.count
    let isDone = try engine.transact(frees: true, pages: pages) {
      (transaction) throws(EngineError) in
      var isDone = true
      for number in numbers {
        if try !reap(number, 2, &released, in: transaction) { isDone = false }
      }
      return isDone
    }.result
    requestSpace(released)
    return isDone
  }

  /// Frees an inode that has no name and that nobody knows, its contents first.
  private func reap(_ number: UInt64) throws(EngineError) {
    try settle(number)
    var released = 0
    var isDone = false
    while !isDone {
      let budget = try trimBudget()
      isDone = try engine.transact(frees: true, pages: try trimPages(budget)) {
        (transaction) throws(EngineError) in
        try reap(number, budget, &released, in: transaction)
      }.result
    }
    requestSpace(released)
  }

  /// Space comes back with the next root.
  private func requestSpace(_ released: Int) {
    if released > 256 || (released > 0 && engine.isShortOfSpace) { engine.requestCheckpoint() }
  }

  /// The number may be another file's soon: nothing of this one may linger, nor a frame under way.
  private func settle(_ number: UInt64) throws(EngineError) {
    if nodes.existing(number) != nil {
      try nodes.with(number) { (node) throws(EngineError) in
        try node.content.withWrite { () throws(EngineError) in
          let isOrphan = (try? record(of: number).flags.contains(.orphan)) ?? true
          guard !nodes.isKnown(number) && isOrphan else { return }
          discardPending(of: node)
          node.state.withLock { $0.keys = nil }
        }
      }
    }
  }

  private func reap(
    _ number: UInt64, _ budget: Int, _ released: inout Int, in transaction: Transaction
  ) throws(EngineError) -> Bool {
    guard !nodes.isKnown(number) else { return true }
    let found: InodeRecord
    do { found = try Inodes.record(of: number, in: transaction) } catch {
      guard case .posix(.stale) = error else { throw error }
      try Orphans.remove(number, in: transaction)
      return true
    }
    var record = found
    guard record.flags.contains(.orphan) else {
      // A truncation that a crash cut short.
      if record.flags.contains(.trimming) { return try trim(number, budget, in: transaction) }
      try Orphans.remove(number, in: transaction)
      return true
    }
    let before = record.chunks
    if record.isRegular {
      let isDone = try ChunkTree.trim(
        &record, keeping: 0, budget: budget, in: transaction)
      released += Int(before - min(before, record.chunks))
      if !isDone {
        try Inodes.store(record, as: number, in: transaction)
        return false
      }
    } else if record.isSymlink && record.top != 0 {
      try transaction.freePage(record.top)
    }
    try ExtendedAttributes.drop(&record, in: transaction)
    try Inodes.free(number, in: transaction)
    try Orphans.remove(number, in: transaction)
    return true
  }
}
