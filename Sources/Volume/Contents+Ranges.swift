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
      if mode == .allocate || mode == .allocateKeepingSize {
        let free = try engine.freeBytes()
        guard UInt64(range.count) <= free else {
          throw EngineError.posix(.noSpace)
        }
      }
      try nodes.with(inode.rawValue) { (node) throws(EngineError) in
        try node.content.withWrite { () throws(EngineError) in
          let record = try record(of: node.number)
          guard record.isRegular else {
            throw EngineError.posix(record.isDirectory ? .isDirectory : .invalid)
          }
          if clearsSetID { try clearSetID(of: node, record) }
          let size = node.state.withLock { $0.size } ?? record.size
          if mode == .punch || mode == .zero || mode == .zeroKeepingSize {
            try punch(node, record, range, size: size)
          }
          if (mode == .allocate || mode == .zero) && range.upperBound > size {
            try resize(node, to: range.upperBound) { _ in }
          } else if mode != .allocate && mode != .allocateKeepingSize {
            node.state.withLock { $0.written = Clock.realtime }
            nodes.notePending(node)
          }
        }
      }
    }
  }

  private func clearSetID(of node: Node, _ record: InodeRecord) throws(EngineError) {
    guard record.mode & (FileMode.setUser | FileMode.setGroup) != 0 else { return }
    try engine.transact { (transaction) throws(EngineError) in
      try Inodes.change(node.number, in: transaction) { $0.clearSetID() }
    }
  }

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
        try node.content.withRead { () throws(EngineError) in
          let record = try record(of: node.number)
          let size = node.state.withLock { $0.size } ?? record.size
          guard offset < size else { return nil }
          let end = (size + UInt64(Layout.chunkSize) - 1) / UInt64(Layout.chunkSize)
          var chunk = offset / UInt64(Layout.chunkSize)
          if !hole {
            let found = try firstStored(of: node, record, chunk..<end)
            return found.map { max($0 * UInt64(Layout.chunkSize), offset) }
          }
          while chunk < end {
            let stop = min(end, chunk + 4096)
            let found = try references(of: node, record, chunk..<stop)
            if let index = found.firstIndex(where: { $0.isHole }) {
              let position = (chunk + UInt64(index)) * UInt64(Layout.chunkSize)
              return min(max(position, offset), size)
            }
            chunk = stop
          }
          return size
        }
      }
    }
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
