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
}

/// A simulated file: what readers see, what a power loss leaves for certain, and what lies between.
struct SimulatedContent: Sendable {
  private(set) var current = SparseContent()
  private(set) var durable = SparseContent()
  private(set) var pending: [PendingChange] = []
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

  mutating func sync() {
    for change in pending { change.apply(to: &durable) }
    pending = []
  }

  /// What Linux does when the sync fails: pages become clean though they never reached the disk.
  /// Readers go on seeing them, and a later sync that succeeds does not bring them back.
  mutating func failSync() { pending.removeAll { $0.isWrite } }

  /// Alters the stored bytes behind the program's back.
  mutating func tamper(_ body: (inout SparseContent) -> Void) {
    body(&current)
    body(&durable)
  }

  /// What a power loss leaves: each pending change kept, dropped or, a write, torn by sectors.
  func afterCrash(_ mode: CrashMode, _ random: inout SplitMix64) -> SparseContent {
    var content = durable
    switch mode {
    case .keepAll: return current
    case .dropAll: return content
    case .prefix, .subset, .random: break
    }
    let likelihood = random.pick([10, 50, 90, 99])
    for change in pending {
      let kept = random.chance(likelihood)
      if case .write(let bytes, let offset) = change, !kept, random.chance(50) {
        Self.tear(bytes, at: offset, into: &content, &random)
      } else if kept {
        change.apply(to: &content)
      }
    }
    return content
  }

  /// Writes random sectors of a write: those of the disk, 512 bytes at multiples of 512.
  private static func tear(
    _ bytes: [UInt8], at offset: Int, into content: inout SparseContent,
    _ random: inout SplitMix64
  ) {
    // The size may have been changed before the data got there.
    if random.chance(30), content.size < offset + bytes.count {
      content.resize(offset + bytes.count)
    }
    var start = offset
    while start < offset + bytes.count {
      let end = min((start / 512 + 1) * 512, offset + bytes.count)
      if random.chance(50) { content.write(bytes, (start - offset)..<(end - offset), at: start) }
      start = end
    }
  }
}
