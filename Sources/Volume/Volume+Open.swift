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
  ///
  /// Where some cannot be read, the others are listed, and the end of the list is the error.
  package func readDirectory(
    _ inode: InodeNumber, after cookie: UInt64, _ body: (DirectoryEntry) -> Bool
  ) throws(VolumeError) {
    try answer { () throws(EngineError) in
      guard cookie < UInt64(Int64.max) else { return }
      if cookie == 0 { forgetOldDamage(of: inode.rawValue) }
      // A batch at a time, so that the tree is not held while a reply is put together.
      var key: UInt64? = cookie + 1
      var isListed = false
      while let start = key {
        let batch = try entries(of: inode.rawValue, from: start)
        if let page = batch.lost { noteDamage(of: inode.rawValue, page) }
        for entry in batch.entries {
          isListed = true
          if !body(entry) { return }
        }
        key = batch.next
      }
      guard !isListed, let damage = damagedDirectories.withLock({ $0[inode.rawValue] }) else {
        return
      }
      throw EngineError.damaged(damage.what)
    }
  }

  /// The entries of one leaf, or the page that cannot be read in its place.
  private struct Batch {
    var entries: [DirectoryEntry] = []
    var lost: UInt32?
    /// The first key behind it.
    var next: UInt64?
  }

  private func entries(of directory: UInt64, from key: UInt64) throws(EngineError) -> Batch {
    try engine.read { (pages) throws(EngineError) in
      let record = try self.directory(directory, in: pages)
      guard let place = PageTree.place(of: key, root: record.top, in: pages, { _ in }) else {
        return Batch()
      }
      guard let node = place.node else {
        return Batch(lost: place.page, next: place.following)
      }
      var found: [DirectoryEntry] = []
      for (key, value) in try node.records(from: key) {
        guard let entry = Directories.Entry(value), key <= Int64.max else {
          throw .damaged("a directory entry")
        }
        found.append(
          DirectoryEntry(
            name: entry.name, inode: InodeNumber(rawValue: entry.inode), type: entry.type,
            cookie: key))
      }
      return Batch(entries: found, next: place.following)
    }
  }

  private func noteDamage(of directory: UInt64, _ page: UInt32) {
    var what = "page \(page) of directory \(directory)"
    do throws(EngineError) {
      _ = try engine.page(PageID(.pages, page))
      unreadable.note(what)
    } catch {
      if case .damaged(let object) = error { what = object }
      _ = failure(error)
    }
    damagedDirectories.withLock { $0[directory] = DamagedNames(what: what) }
  }

  /// A new listing finds out by itself what still cannot be read. What was noted of late stays: the
  /// listing that met it may not be at its end.
  private func forgetOldDamage(of directory: UInt64) {
    damagedDirectories.withLock { directories in
      guard let damage = directories[directory] else { return }
      let isOld = Clock.monotonic &- damage.time > DamagedNames.longestListing
      if isOld { directories[directory] = nil }
    }
  }
}

/// Names of a directory that could not be read when it was listed.
struct DamagedNames: Sendable {
  /// A listing that takes longer than this, in nanoseconds, may miss that names are missing if
  /// they can be read again and another listing has begun.
  static let longestListing: UInt64 = 60_000_000_000

  let what: String
  var time = Clock.monotonic
}
