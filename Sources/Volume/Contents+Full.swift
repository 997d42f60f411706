import Engine
import Format
import POSIX

/// Writing while the lower filesystem is full: files can still be changed where they are.
extension Volume {
  /// Tries again with what a checkpoint gives back; then, unless the file grows, with the reserve.
  func writeWhenFull(
    _ node: Node, _ span: RawSpan, at offset: UInt64
  ) throws(EngineError) {
    // One at a time: what one lends from the reserve must be back before the next one asks.
    try full.withLock { _ throws(EngineError) in
      try settle(node)
      do throws(EngineError) {
        try writeContents(of: node, span, at: offset)
        return
      } catch {
        guard case .noSpace = error else { throw error }
        let range = offset..<(offset + UInt64(span.byteCount))
        let isGrowth = try node.content.withRead { () throws(EngineError) in
          let record = try record(of: node.number)
          let size = node.state.withLock { $0.size } ?? record.size
          return try grows(node, record, range, size: size)
        }
        guard !isGrowth, engine.reserve.release() else { throw error }
      }
      try writeContents(of: node, span, at: offset)
      // It is written: what fails now is done later, and nothing grows before.
      try? settle(node)
      engine.reserve.restore()
    }
  }

  /// Whether a write needs more chunks than the file has. With the contents held.
  func grows(
    _ node: Node, _ record: InodeRecord, _ range: Range<UInt64>, size: UInt64
  ) throws(EngineError) -> Bool {
    guard range.upperBound <= size else { return true }
    return try references(of: node, record, Self.chunks(of: range)).contains { $0.isHole }
  }

  /// Frames the contents and, if anything was released since the last root, writes a new one.
  private func settle(_ node: Node) throws(EngineError) {
    try node.content.withWrite { () throws(EngineError) in try frame(node, images: false) }
    if engine.data.allocator.heldCount > 0 { try engine.checkpoint() }
  }
}
