import Bytes
import Engine
import Format
import POSIX

/// Holes: fallocate(2) with FALLOC_FL_PUNCH_HOLE or FALLOC_FL_ZERO_RANGE.
extension Volume {
  /// Chunks punched before their frames are written.
  private static let punchBatch = 16384

  /// Makes a range read as zeros: whole chunks become holes.
  func punch(
    _ node: Node, _ record: InodeRecord, _ range: Range<UInt64>, size: UInt64
  ) throws(EngineError) {
    let chunkSize = UInt64(Layout.chunkSize)
    let end = min(range.upperBound, Self.chunks(of: 0..<size).upperBound * chunkSize)
    guard range.lowerBound < end else { return }
    let firstWhole = (range.lowerBound + chunkSize - 1) / chunkSize
    let endWhole = max(end / chunkSize, firstWhole)
    let zeros = Buffer(count: Layout.chunkSize)
    let headEnd = min(firstWhole * chunkSize, end)
    let tailStart = endWhole * chunkSize
    try change(node) { (fresh) throws(EngineError) in
      if range.lowerBound < headEnd, try isStored(node, record, range.lowerBound / chunkSize) {
        let inside = Int(range.lowerBound % chunkSize)
        try mergeChunk(
          of: node, record, zeros.bytes(in: 0..<Int(headEnd - range.lowerBound)),
          range.lowerBound / chunkSize, inside, size: max(size, headEnd), &fresh)
      }
      if tailStart >= headEnd, tailStart < end, try isStored(node, record, endWhole) {
        try mergeChunk(
          of: node, record, zeros.bytes(in: 0..<Int(end - tailStart)), endWhole, 0,
          size: max(size, end), &fresh)
      }
    }
    try makeHoles(node, record, firstWhole..<endWhole)
  }

  /// A hole is zeros already: a part of it need not be made so.
  private func isStored(
    _ node: Node, _ record: InodeRecord, _ chunk: UInt64
  ) throws(EngineError) -> Bool {
    try references(of: node, record, chunk..<(chunk + 1)).contains { !$0.isHole }
  }

  private func makeHoles(
    _ node: Node, _ record: InodeRecord, _ chunks: Range<UInt64>
  ) throws(EngineError) {
    changePending(of: node) { state in
      for chunk in state.pending.chunks where chunks.contains(chunk) {
        replace(chunk, .hole, &state)
      }
    }
    var record = record
    var next = chunks.lowerBound
    while next < chunks.upperBound {
      let stored = try engine.read { (pages) throws(EngineError) in
        try ChunkTree.firstStored(of: record, from: next, in: pages)
      }
      guard let stored, stored < chunks.upperBound else { return }
      changePending(of: node) { replace(stored, .hole, &$0) }
      next = stored + 1
      // What is pending is kept in memory: that is bounded.
      if node.state.withLock({ $0.pending.count }) >= Self.punchBatch {
        try frame(node, images: false)
        record = try self.record(of: node.number)
      }
    }
  }
}
