import Engine
import Format
import POSIX

extension Volume {
  /// Counts an open handle; the inode lives until it is released. `truncate` is O_TRUNC.
  ///
  /// It takes no set-uid bits away: whether they are to go depends on who asks.
  package func open(_ inode: InodeNumber, truncate: Bool) throws(VolumeError) {
    try answer { () throws(EngineError) in
      let record = try record(of: inode.rawValue)
      nodes.open(inode.rawValue)
      guard truncate else { return }
      do throws(EngineError) {
        guard record.isRegular else {
          throw EngineError.posix(record.isDirectory ? .isDirectory : .invalid)
        }
        try nodes.with(inode.rawValue) { (node) throws(EngineError) in
          try node.content.withWrite { () throws(EngineError) in
            try resize(node, to: 0) { _ in }
          }
        }
      } catch {
        release(inode)
        throw error
      }
    }
  }

  package func release(_ inode: InodeNumber) {
    if nodes.release(inode.rawValue) { unknown(inode.rawValue) }
  }

  /// The last name went: if the kernel does not know the inode either, its contents may go.
  func unknownUnlessKept(_ number: UInt64) {
    if !nodes.isKnown(number) { unknown(number) }
  }

  /// Nobody knows the inode any more. Without a name it is done for.
  func unknown(_ number: UInt64) {
    guard !engine.isReadOnly else { return }
    let isOrphan = try? engine.read { (pages) throws(EngineError) in
      try Inodes.record(of: number, in: pages).flags.contains(.orphan)
    }
    if isOrphan == true { wakeReaper() }
  }

  /// Entries after a cookie, in order, until `body` returns false. Without `.` and `..`.
  package func readDirectory(
    _ inode: InodeNumber, after cookie: UInt64, _ body: (DirectoryEntry) -> Bool
  ) throws(VolumeError) {
    try answer { () throws(EngineError) in
      guard cookie < UInt64(Int64.max) else { return }
      // A batch at a time, so that the tree is not held while a reply is put together.
      var after = cookie
      while true {
        let batch = try entries(of: inode.rawValue, after: after, limit: 128)
        for entry in batch where !body(entry) { return }
        guard batch.count == 128, let last = batch.last else { return }
        after = last.cookie
      }
    }
  }

  private func entries(
    of directory: UInt64, after cookie: UInt64, limit: Int
  ) throws(EngineError) -> [DirectoryEntry] {
    try engine.read { (pages) throws(EngineError) in
      let record = try self.directory(directory, in: pages)
      var found: [DirectoryEntry] = []
      try PageTree.scan(from: cookie + 1, root: record.top, in: pages) {
        (key, node, index) throws(EngineError) in
        guard let entry = Directories.Entry(try node.value(index)), key <= Int64.max else {
          throw .damaged("a directory entry")
        }
        found.append(
          DirectoryEntry(
            name: entry.name, inode: InodeNumber(rawValue: entry.inode), type: entry.type,
            cookie: key))
        return found.count < limit
      }
      return found
    }
  }
}
