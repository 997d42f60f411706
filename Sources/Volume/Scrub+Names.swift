import Engine
import Format
import POSIX

/// A part of the tree, and the paths of what was found.
extension Scrub {
  // MARK: - A part

  /// The inode a path leads to; links are not followed. Throws ENOENT or ENOTDIR.
  private func find(_ path: [[UInt8]]) throws(EngineError) -> UInt64 {
    var number = InodeNumber.root.rawValue
    for name in path {

      let parent = number
      number = try engine.read { (pages) throws(EngineError) in
        let directory = try volume.directory(parent, in: pages)
        let found = try volume.directories.find(name, root: directory.top, in: pages)
        guard let found else { throw .posix(.noSuchFile) }
        return found.entry.inode
      }
    }
    return number
  }

  /// Everything below one name.
  func runPart() throws(EngineError) {
    readsData = !options.isQuick
    var stack = [try find(options.path ?? [])]
    while let number = stack.popLast() {
      try tick()
      check(Inodes.page(of: number))
      guard let record = try? volume.record(of: number) else {
        if (try? engine.page(Inodes.page(of: number))) == nil { blame(inode: number) }
        continue
      }
      guard !inodes.contains(number) else { continue }
      try check(number, record)
      guard record.isDirectory else { continue }
      try checkDirectory(number) { entry in
        if !inodes.contains(entry.inode) { stack.append(entry.inode) }
      }
    }
    try finishData()
    for damage in relations { add(damage) }
  }

  // MARK: - Paths

  /// Finds the paths of what is damaged, by going through the names once more.
  func name() throws(EngineError) {
    var wanted: Set<UInt64> = []
    for damage in report.damages where damage.path == nil {
      if let inode = damage.inode, inode != 0 { wanted.insert(inode) }
    }
    guard !wanted.isEmpty else { return }
    var known: [UInt64: (parent: UInt64, name: [UInt8])] = [:]
    let types = types
    try types.forEach { (number, type) throws(EngineError) in
      guard UInt32(type) << 12 == FileMode.directory else { return }
      try lookFor(wanted, in: number, &known)
    }
    for index in report.damages.indices {
      guard let inode = report.damages[index].inode, inode != 0,
        var path = try path(of: inode, &known)
      else { continue }
      if let name = report.damages[index].name { path += (path.isEmpty ? [] : [0x2f]) + name }
      report.damages[index].path = path
      if report.damages[index].noun == nil {
        let type = report.damages[index].name == nil ? UInt32(types[inode]) << 12 : 0
        report.damages[index].noun = type == 0 ? "name" : Self.noun(type)
      }
    }
  }

  private func lookFor(
    _ wanted: Set<UInt64>, in number: UInt64,
    _ known: inout [UInt64: (parent: UInt64, name: [UInt8])]
  ) throws(EngineError) {
    var found = known
    try forEachPlace(in: number, visit: { _ in }) { place, start in
      guard let node = place.node else { return }
      for (_, value) in records(of: node, from: start) {
        guard let entry = Directories.Entry(value), wanted.contains(entry.inode),
          found[entry.inode] == nil
        else { continue }
        found[entry.inode] = (number, entry.name)
      }
    }
    known = found
  }

  /// The path of an inode from the root; nil if no name leads to it.
  private func path(
    of inode: UInt64, _ known: inout [UInt64: (parent: UInt64, name: [UInt8])]
  ) throws(EngineError) -> [UInt8]? {
    var names: [[UInt8]] = []
    var current = inode
    while current != InodeNumber.root.rawValue {
      if known[current] == nil {
        // A directory says itself where it is.
        guard let record = try? volume.record(of: current), record.isDirectory else { break }
        try lookFor([current], in: record.parent, &known)
      }
      guard let place = known[current], names.count < 4096 else { break }
      names.append(place.name)
      current = place.parent
    }
    if current != InodeNumber.root.rawValue {
      guard !names.isEmpty else { return nil }
      names.append(Array("#\(current)".utf8))
    }
    return Array(names.reversed().joined(separator: [0x2f]))
  }
}
