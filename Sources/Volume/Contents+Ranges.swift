import Bytes
import Engine
import Format
import POSIX

extension Volume {
  /// fallocate(2). Space cannot be promised on a store that never overwrites; ENOSPC tells what
  /// surely fails. Changes content, or could, so it takes set-uid bits away as a write does.
  package func allocate(
    _ inode: InodeNumber, _ range: Range<UInt64>, _ mode: AllocationMode, clearsSetID: Bool
  ) throws(VolumeError) {
    guard range.upperBound <= Layout.maximumFileSize else { throw .system(.fileTooLarge) }
    guard !range.isEmpty else { throw .system(.invalid) }
    do { try engine.checkWritable() } catch { throw VolumeError(error) }
    try answer { () throws(EngineError) in
      try nodes.with(inode.rawValue) { (node) throws(EngineError) in
        try node.content.withWrite { () throws(EngineError) in
          let record = try record(of: node.number)
          guard record.isRegular else {
            throw EngineError.posix(record.isDirectory ? .isDirectory : .invalid)
          }
          let size = node.state.withLock { $0.size } ?? record.size
          if mode == .allocate || mode == .allocateKeepingSize {
            try checkFits(node, record, range)
          }
          if clearsSetID { try clearSetID(of: node) }
          if mode == .punch || mode == .zero || mode == .zeroKeepingSize {
            try punch(node, record, range, size: size)
          }
          if (mode == .allocate || mode == .zero) && range.upperBound > size {
            try resize(node, to: range.upperBound) { _ in }
          } else if mode != .allocate && mode != .allocateKeepingSize {
            changePending(of: node) { $0.written = Clock.realtime }
          }
        }
      }
    }
  }

  /// Refuses an allocation that surely does not fit: what is not stored yet needs space.
  private func checkFits(
    _ node: Node, _ record: InodeRecord, _ range: Range<UInt64>
  ) throws(EngineError) {
    let free = try engine.freeBytes() / UInt64(Layout.chunkSize)
    let chunks = Self.chunks(of: range)
    var missing: UInt64 = 0
    var chunk = chunks.lowerBound
    while chunk < chunks.upperBound, UInt64(chunks.upperBound - chunk) + missing > free {
      let stop = min(chunks.upperBound, chunk + Self.seekBatch)
      missing += UInt64(try references(of: node, record, chunk..<stop).count { $0.isHole })
      guard missing <= free else { throw .posix(.noSpace) }
      chunk = stop
    }
  }

  /// The chunks that a range of bytes touches.
  static func chunks(of range: Range<UInt64>) -> Range<UInt64> {
    let size = UInt64(Layout.chunkSize)
    return (range.lowerBound / size)..<((range.upperBound + size - 1) / size)
  }

  /// Chunks that are looked at without letting a writer in.
  private static let seekBatch: UInt64 = 4096

  /// lseek(2) with SEEK_DATA: the first byte at or after `offset` that is stored; ENXIO past the
  /// last.
  package func seekData(
    _ inode: InodeNumber, from offset: UInt64
  ) throws(VolumeError) -> UInt64 {
    guard let found = try seek(inode, from: offset, hole: false) else {
      throw .system(.noAddress)
    }
    return found
  }

  /// SEEK_HOLE: the first hole at or after `offset`; the end of the file is one.
  package func seekHole(
    _ inode: InodeNumber, from offset: UInt64
  ) throws(VolumeError) -> UInt64 {
    guard let found = try seek(inode, from: offset, hole: true) else {
      throw .system(.noAddress)
    }
    return found
  }

  private func seek(
    _ inode: InodeNumber, from offset: UInt64, hole: Bool
  ) throws(VolumeError) -> UInt64? {
    try answer { () throws(EngineError) in
      try nodes.with(inode.rawValue) { (node) throws(EngineError) in
        var from = offset
        while true {
          switch try node.content.withRead({ () throws(EngineError) in
            try hole ? firstHole(in: node, from: from) : firstData(in: node, from: from)
          }) {
          case .found(let position): return max(position, offset)
          case .nothing: return nil
          case .further(let position): from = position
          }
        }
      }
    }
  }

  private enum Sought {
    case found(UInt64)
    case nothing
    /// Nothing up to there; others get their turn first.
    case further(UInt64)
  }

  private func firstData(in node: Node, from offset: UInt64) throws(EngineError) -> Sought {
    let record = try record(of: node.number)
    let size = node.state.withLock { $0.size } ?? record.size
    guard offset < size else { return .nothing }
    let found = try firstStored(of: node, record, Self.chunks(of: offset..<size))
    return found.map { .found($0 * UInt64(Layout.chunkSize)) } ?? .nothing
  }

  private func firstHole(in node: Node, from offset: UInt64) throws(EngineError) -> Sought {
    let record = try record(of: node.number)
    let size = node.state.withLock { $0.size } ?? record.size
    guard offset < size else { return .nothing }
    let chunks = Self.chunks(of: offset..<size)
    let stop = min(chunks.upperBound, chunks.lowerBound + Self.seekBatch)
    let found = try references(of: node, record, chunks.lowerBound..<stop)
    if let index = found.firstIndex(where: { $0.isHole }) {
      return .found(min((chunks.lowerBound + UInt64(index)) * UInt64(Layout.chunkSize), size))
    }
    return stop == chunks.upperBound ? .found(size) : .further(stop * UInt64(Layout.chunkSize))
  }

  /// copy_file_range(2) within the volume. Returns the bytes copied; fewer at the end of the
  /// source.
  package func copyRange(
    from source: InodeNumber, at sourceOffset: UInt64, to target: InodeNumber,
    at targetOffset: UInt64, count: UInt64
  ) throws(VolumeError) -> UInt64 {
    let buffer = Buffer(count: 1 << 20)
    var done: UInt64 = 0
    while done < count {
      let wanted = Int(min(UInt64(buffer.count), count - done))
      var span = buffer.mutableBytes(in: 0..<wanted)
      let length = try read(source, into: &span, at: sourceOffset + done)
      if length == 0 { break }
      try write(
        target, buffer.bytes(in: 0..<length), at: targetOffset + done, clearsSetID: true)
      done += UInt64(length)
    }
    return done
  }
}
