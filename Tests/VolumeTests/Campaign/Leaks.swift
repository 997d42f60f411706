import Bytes
import Format
import POSIX
import TestKit

@testable import Engine
@testable import Volume

/// What a volume has left once everything in it was removed.
extension Volume {
  /// Removes everything and writes a root. Nil if nothing is taken any more but what the empty
  /// vault itself takes.
  func leaks(on disk: SimulatedDisk) throws -> String? {
    try empty(.root)
    try frameAll()
    if let failure = reapOrphans() { throw failure }
    try engine.checkpoint()
    return try engine.leaks(on: disk)
  }
}

extension Engine {
  fileprivate func leaks(on disk: SimulatedDisk) throws -> String? {
    let counts = try [SystemPage.usedSlots, SystemPage.usedInodes, SystemPage.usedPages].map {
      offset in
      try read { (pages) throws(EngineError) in
        try pages.read(PageID(.system, 0)).load(UInt64.self, at: offset)
      }
    }
    guard counts == [0, 1, 0] else { return "slots, inodes, pages in use: \(counts)" }
    let maps: [MetadataFile] = [.dataMap, .inodeMap, .pageMap]
    let taken = try maps.map { try self.taken($0) }
    guard taken == [0, 1, 0] else { return "taken by the maps: \(taken)" }
    let held = [data.allocator.heldCount, metaAllocator.heldCount]
    guard held == [0, 0] else { return "slots held back: \(held)" }
    return try metadataLeaks() ?? strayObjects(on: disk)
  }

  /// Bits set in the first page of a map: no scenario takes more.
  private func taken(_ map: MetadataFile) throws -> Int {
    try read { (pages) throws(EngineError) in
      let page = try pages.read(PageID(map, 0))
      return (0..<512).reduce(0) { $0 + page.load(UInt64.self, at: $1 * 8).nonzeroBitCount }
    }
  }

  /// The pages that the trees name, the map of metadata slots and the root agree.
  private func metadataLeaks() throws -> String? {
    let root = checkpointing.withLock { $0.root }
    var named = 0
    var place: UInt64? = 0
    while let next = place {
      let found = try store.tree.withRead { () throws(EngineError) in
        let found = try store.named(from: next)
        for id in found.pages { _ = try store.page(id) }
        return found
      }
      named += found.pages.count
      place = found.next
    }
    let taken = try self.taken(.metaMap)
    guard named == taken, UInt64(taken) == root.usedMetaSlots else {
      return "metadata slots: \(named) named, \(taken) taken, \(root.usedMetaSlots) counted"
    }
    return nil
  }

  /// Objects that neither the root nor this session accounts for.
  private func strayObjects(on disk: SimulatedDisk) -> String? {
    let used = writer.withLock { $0.segments.count } + segments.count
    let journal = disk.names.filter { $0.hasPrefix("journal/") }
    guard journal.count == used else { return "\(journal) for \(used) segments" }
    let others = disk.names.filter { name in
      !["journal/", "data/0000", "meta-a/0000", "meta-b/0000", "root.", "reserve"]
        .contains { name.hasPrefix($0) } && !name.hasSuffix(".anchor")
    }
    return others.isEmpty ? nil : "\(others) belong to nothing"
  }
}
