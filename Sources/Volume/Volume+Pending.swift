import Engine
import Format
import POSIX

/// What all nodes together have written that no frame names yet.
struct Unframed: Sendable {
  /// Chunks that are stored.
  var chunks = 0
  /// Tables of references that frames of it will change.
  var tables = 0
}

extension Volume {
  /// At so many chunks a writer stops to frame them: 64 MiB.
  private static let unframedLimit = 16384
  /// And at so many tables: a checkpoint needs room for each.
  private static let tablesLimit = 1024

  /// Changes what a node has written and no frame names: the one place where that happens, so that
  /// the sums are right, and none is forgotten when everything is framed.
  func changePending<R>(of node: Node, _ body: (inout Node.State) -> R) -> R {
    let (result, chunks, tables, isSettled) = node.state.withLock { state in
      let before = (state.pending.stored, state.pending.tables)
      let result = body(&state)
      let pending = state.pending
      return (result, pending.stored - before.0, pending.tables - before.1, state.isSettled)
    }
    if chunks != 0 || tables != 0 {
      unframed.withLock { unframed in
        unframed.chunks += chunks
        unframed.tables += tables
      }
    }
    if !isSettled { nodes.notePending(node) }
    return result
  }

  /// A writer that outruns the background thread does its work.
  func frameIfMuch() {
    let isMuch = unframed.withLock {
      $0.chunks > Self.unframedLimit || $0.tables > Self.tablesLimit
    }
    // What goes wrong is told to whom it concerns; here it would be somebody else.
    if isMuch { try? frameAll() }
  }

  /// Refuses a write that needs more metadata than there is room for: so much more than the frames
  /// of what was accepted before.
  func makeRoom(
    for node: Node, _ record: InodeRecord, _ range: Range<UInt64>, size: UInt64
  ) throws(EngineError) {
    let table = UInt64(Layout.chunkSize * Layout.referencesPerTable)
    let own = Int(range.upperBound / table - range.lowerBound / table) + 1
    let pages = Engine.usualPages + own + unframed.withLock { $0.tables }
    if engine.hasRoom(pages: pages) { return }
    // Where it only takes the place of what is there, a checkpoint gives back what it takes.
    if try grows(node, record, range, size: size) {
      try engine.makeRoom(frees: false, pages: pages)
    }
  }
}
