import Format

/// References of chunks that are written and in no frame; a hole releases what was there.
struct PendingChunks {
  private var entries: [UInt64: Reference] = [:]
  /// How many entries each table of references has among them.
  private var perTable: [UInt64: Int] = [:]
  /// How many are not holes.
  private(set) var stored = 0

  var isEmpty: Bool { entries.isEmpty }
  var count: Int { entries.count }
  /// Tables of references that a frame of these chunks changes.
  var tables: Int { perTable.count }
  var chunks: [UInt64] { entries.keys.sorted() }
  var references: [Reference] { Array(entries.values) }

  subscript(chunk: UInt64) -> Reference? { entries[chunk] }

  /// Sets a chunk's reference; nil takes it out. Returns what was there.
  @discardableResult
  mutating func set(_ chunk: UInt64, _ reference: Reference?) -> Reference? {
    let old = entries[chunk]
    entries[chunk] = reference
    if let old, !old.isHole { stored -= 1 }
    if let reference, !reference.isHole { stored += 1 }
    if (old == nil) != (reference == nil) { count(chunk, by: old == nil ? 1 : -1) }
    return old
  }

  private mutating func count(_ chunk: UInt64, by change: Int) {
    let table = chunk / UInt64(Layout.referencesPerTable)
    let count = (perTable[table] ?? 0) + change
    perTable[table] = count == 0 ? nil : count
  }

  /// Takes the chunks from one on out.
  mutating func cut(from chunk: UInt64) -> PendingChunks {
    var cut = PendingChunks()
    for (index, reference) in entries where index >= chunk { cut.set(index, reference) }
    for index in cut.entries.keys { set(index, nil) }
    return cut
  }

  /// Puts back what `cut` took out.
  mutating func restore(_ cut: PendingChunks) {
    for (chunk, reference) in cut.entries { set(chunk, reference) }
  }

  /// The first chunk at or after one that is not a hole.
  func firstStored(from chunk: UInt64) -> UInt64? {
    entries.lazy.filter { $0.key >= chunk && !$0.value.isHole }.map { $0.key }.min()
  }
}
