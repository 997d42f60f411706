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
      if stop { break }
      failed = reapOrphans(goesOn: { !self.isStopping }) != nil && !engine.isReadOnly
    }
    background.withLock { $0.running -= 1 }
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
          try Orphans.first(64, after: after, in: pages)
        }
        guard let last = batch.last else { break }
        after = last
        for number in batch where !nodes.isKnown(number) && goesOn() {
          do throws(EngineError) { try reap(number) } catch { failure = failure ?? error }
        }
      }
    } catch { failure = failure ?? error }
    return failure
  }

  /// Frees an inode that has no name and that nobody knows, its contents first.
  private func reap(_ number: UInt64) throws(EngineError) {
    // The number may be another file's soon: nothing of this one may linger, nor a frame under way.
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
    var released = 0
    var isDone = false
    while !isDone {
      let budget = try trimBudget()
      isDone = try engine.transact(frees: true, pages: try trimPages(budget)) {
        (transaction) throws(EngineError) in
        try reap(number, budget, &released, in: transaction)
      }.result
    }
    // Space comes back with the next root.
    if released > 256 || (released > 0 && engine.isShortOfSpace) { engine.requestCheckpoint() }
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
