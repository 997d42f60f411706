import Engine
import Format

/// Names: every one leads to a living inode of its type, and trees of names are whole.
extension Scrub {
  /// Every directory that `checkInodes` has found.
  func checkDirectories() throws(EngineError) {
    let types = types
    try types.forEach { (number, type) throws(EngineError) in
      guard UInt32(type) << 12 == FileMode.directory else { return }
      try checkDirectory(number) { _ in }
    }
  }

  /// One directory; `body` hears of every name that leads to something.
  func checkDirectory(
    _ number: UInt64, _ body: (Directories.Entry) -> Void
  ) throws(EngineError) {
    var found = Names()
    var marked: Set<UInt32> = []
    let isComplete = try forEachPlace(
      in: number,
      visit: { [self] page in
        if marked.insert(page).inserted { mark(page, of: number) }
      }
    ) { place, start in
      guard let node = place.node else {
        found.isWhole = false
        blameNames(place, number)
        return
      }
      for (key, value) in records(of: node, from: start) {
        guard let entry = Directories.Entry(value), isName(entry.name) else {
          relate(.structure, "a name in it is none") { $0.inode = number }
          continue
        }
        found.count += 1
        if entry.type == FileMode.directory { found.directories += 1 }
        if !volume.directories.isPlace(key, of: entry.name) {
          relate(.structure, "it is not where it is looked for") { damage in
            damage.inode = number
            damage.name = entry.name
          }
        }
        if check(entry, in: number) { body(entry) }
      }
    }
    if !isComplete { found.isWhole = false }
    compareCounts(of: number, found)
  }

  /// What a leaf holds; it was found sound before.
  func records(of node: TreeNode, from key: UInt64) -> [(key: UInt64, value: [UInt8])] {
    do { return try node.records(from: key) } catch {
      preconditionFailure("a sound leaf has all its records")
    }
  }

  /// What a directory holds, as far as it can be read.
  private struct Names {
    var count: UInt64 = 0
    var directories: UInt32 = 0
    var isWhole = true
  }

  /// Calls `body` for every leaf of a directory, or what is in its place, with the first key that
  /// is its own. Each of one moment. False if there was no more to be had before the end.
  @discardableResult
  func forEachPlace(
    in number: UInt64, visit: (UInt32) -> Void,
    _ body: (PageTree.Place, UInt64) -> Void
  ) throws(EngineError) -> Bool {
    var key: UInt64? = 0
    while let start = key {
      try tick()
      var visited: [UInt32] = []
      let found: PageTree.Place?
      do throws(EngineError) {
        found = try engine.read { (pages) throws(EngineError) in
          let record = try volume.directory(number, in: pages)
          return PageTree.place(of: start, root: record.top, in: pages) { visited.append($0) }
        }
      } catch {
        try blameUnlessGone(number, error)
        return false
      }
      visited.forEach(visit)
      guard let place = found else { return true }
      body(place, start)
      key = place.following
    }
    return true
  }

  private func blameNames(_ place: PageTree.Place, _ number: UInt64) {
    let id = PageID(.pages, place.page)
    repairs.append(.prune(number))
    if (try? engine.page(id)) != nil {
      relate(.structure, "page \(place.page) is no part of a tree of names") { $0.inode = number }
      return
    }
    blame(id) { damage in
      damage.noun = "directory"
      damage.inode = number
      damage.detail = "some of its names are lost"
    }
  }

  private func isName(_ name: [UInt8]) -> Bool { (try? FileName(name)) != nil }

  /// Whether there is what a name stands for.
  private func check(_ entry: Directories.Entry, in number: UInt64) -> Bool {
    names.increment(entry.inode)
    let type: UInt32
    if isWhole {
      type = UInt32(types[entry.inode]) << 12
    } else {
      type = (try? volume.record(of: entry.inode).type) ?? 0
    }
    if type == 0 {
      if entry.inode > 0, entry.inode / Layout.inodesPerPage <= UInt64(UInt32.max),
        (try? engine.page(Inodes.page(of: entry.inode))) == nil
      {
        if !isWhole { check(Inodes.page(of: entry.inode)) }
        blame(inode: entry.inode)
      } else {
        relate(.entry, "it stands for inode \(entry.inode), which is not there") {
          $0.inode = number
          $0.name = entry.name
        }
      }
      return false
    }
    if type != entry.type {
      relate(.entry, "its type is not that of inode \(entry.inode)") {
        $0.inode = number
        $0.name = entry.name
      }
    }
    if type == FileMode.directory, let record = try? volume.record(of: entry.inode),
      record.parent != number
    {
      relate(.links, "it is said to be in directory \(record.parent)") { $0.inode = entry.inode }
      repairs.append(.parent(entry.inode, number))
    }
    return true
  }

  private func compareCounts(of number: UInt64, _ found: Names) {
    guard found.isWhole, let record = try? volume.record(of: number), record.isDirectory else {
      return
    }
    if record.flags.contains(.orphan) { return }
    let links = 2 + found.directories
    if record.size != found.count {
      relate(.links, "it counts \(record.size) names and has \(found.count)") {
        $0.inode = number
        $0.noun = "directory"
      }
    }
    if record.links != links {
      relate(.links, "its link count is \(record.links) and should be \(links)") {
        $0.inode = number
        $0.noun = "directory"
      }
    }
    if record.size != found.count || record.links != links {
      repairs.append(.counts(number, names: found.count, links: links))
    }
  }
}
