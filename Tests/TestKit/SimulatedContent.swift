/// A change of a simulated file that no sync has made last.
enum PendingChange: Sendable {
  case write([UInt8], at: Int)
  case resize(Int)
  case allocate(Range<Int>)
  case punch(Range<Int>)

  var isWrite: Bool {
    if case .write = self { true } else { false }
  }

  func apply(to content: inout SparseContent) {
    switch self {
    case .write(let bytes, let offset): content.write(bytes, 0..<bytes.count, at: offset)
    case .resize(let size): content.resize(size)
    case .allocate(let range): content.allocate(range)
    case .punch(let range): content.punch(range)
    }
  }

  /// Applies what a filesystem's own records tell of the change: sizes and holes, no data.
  func applyRecords(to content: inout SparseContent) {
    guard case .write(let bytes, let offset) = self else { return apply(to: &content) }
    let end = offset + bytes.count
    if !bytes.isEmpty && content.size < end { content.resize(end) }
  }
}

/// A simulated file: what readers see, what a power loss leaves for certain, and what lies between.
struct SimulatedContent: Sendable {
  private(set) var current = SparseContent()
  private(set) var durable = SparseContent()
  private(set) var pending: [PendingChange] = []
  /// Whether readers see what a failed sync lost.
  private var hasLost = false
  var handles = 0

  init() {}

  /// A file that has these bytes for good.
  init(durable content: SparseContent) {
    current = content
    durable = content
  }

  mutating func change(_ change: PendingChange) {
    change.apply(to: &current)
    pending.append(change)
  }

  /// Takes space that a failed reservation keeps; the size does not change.
  mutating func reserve(_ range: Range<Int>) {
    let size = current.size
    current.allocate(range)
    current.setSize(size)
  }

  mutating func sync() {
    if hasLost {
      for change in pending { change.apply(to: &durable) }
    } else {
      durable = current
    }
    pending = []
  }

  /// What Linux does when the sync fails: pages become clean though they never reached the disk.
  /// Readers go on seeing them, and a later sync that succeeds does not bring them back.
  mutating func failSync() {
    hasLost = hasLost || pending.contains { $0.isWrite }
    pending.removeAll { $0.isWrite }
  }

  /// Alters the stored bytes behind the program's back.
  mutating func tamper(_ body: (inout SparseContent) -> Void) {
    body(&current)
    body(&durable)
  }

  /// What a power loss leaves.
  ///
  /// Sizes and holes are as after the first so many changes: a filesystem writes one inode at once.
  /// Each sector of 512 bytes is as it was before, or as it was after any of the writes to it that
  /// follow: so writes are kept, lost, torn and reordered. A size may be there without its data,
  /// which reads as zeros then.
  func afterCrash(_ mode: CrashMode, _ random: inout SplitMix64) -> SparseContent {
    switch mode {
    case .keepAll: return current
    case .dropAll: return durable
    case .prefix, .subset, .random: break
    }
    if pending.isEmpty { return durable }
    var seen = durable
    var kept = durable
    let likelihood = random.pick([0, 10, 50, 90, 100])
    let recorded = random.below(pending.count + 1)
    for (index, change) in pending.enumerated() {
      change.apply(to: &seen)
      if index < recorded { change.applyRecords(to: &kept) }
      guard case .write(let bytes, let offset) = change else { continue }
      let sectors = SparseContent.sectors(of: offset..<(offset + bytes.count))
      let isTorn = random.chance(25)
      let isKept = random.chance(likelihood)
      for sector in sectors where isTorn ? random.chance(50) : isKept {
        kept.copySector(sector, from: seen)
      }
    }
    kept.dropPastEnd()
    return kept
  }
}
