import Bytes
import Engine
import Format

/// Names against inodes, and maps against what is in use.
extension Scrub {
  func compare() throws(EngineError) {
    let listed = try listedOrphans()
    try compareLinks(listed)
    // Both compared with what the last root says; a page not read hides what it named.
    compare(.dataMap, slots, what: "data slots")
    compare(.pageMap, pages, what: "pages")
    compare(.inodeMap, inodes, what: "inodes")
    compareCounts()
    compareAuditLog()
  }

  /// That no entry is missing, and that they stand in their order.
  private func compareAuditLog() {
    for id in lost.keys where id.file == .system && id.level == 0 && id.index > 0 {
      repairs.append(.audit(id.index))
    }
    let record: AuditRecord
    do throws(EngineError) { record = try AuditReader(engine).record() } catch {
      // Pages that can't be read are told of already.
      if !error.isUnreadable || lost[PageID(.system, 0)] == nil {
        relate(.structure, "the audit log can't be read")
      }
      return
    }
    for problem in record.problems {
      if case .unreadable = problem { continue }
      relate(.structure, "audit log: \(problem.sentence)")
    }
  }

  /// The inodes on the list of those without a name, whose pages are marked on the way.
  private func listedOrphans() throws(EngineError) -> SparseBits {
    var listed = SparseBits()
    var marked: Set<UInt32> = []
    var key: UInt64? = 0
    while let start = key {
      try tick()
      var visited: [UInt32] = []
      let found = try? engine.read { (pages) throws(EngineError) in
        let root = try pages.read(PageID(.system, 0)).load(UInt32.self, at: SystemPage.orphans)
        return PageTree.place(of: start, root: root, in: pages) { visited.append($0) }
      }
      for page in visited where marked.insert(page).inserted { mark(page, of: 0) }
      guard let place = found ?? nil else { break }
      if let node = place.node {
        for record in try node.records(from: start) { listed.insert(record.key) }
      } else {
        blame(PageID(.pages, place.page)) { $0.detail = "a part of the list of deleted files" }
      }
      key = place.following
    }
    return listed
  }

  private func compareLinks(_ listed: SparseBits) throws(EngineError) {
    try engine.forEachPage(of: .inodes) { (index) throws(EngineError) in
      try tick()
      guard let page = try? engine.page(PageID(.inodes, UInt32(index))) else { return true }
      let first = index * Layout.inodesPerPage
      for number in first..<(first + Layout.inodesPerPage) where number > 0 {
        let record = InodeRecord(from: page, at: Inodes.offset(of: number))
        if record.mode != 0 { compareLinks(of: number, record, isListed: listed.contains(number)) }
      }
      return true
    }
  }

  private func compareLinks(of number: UInt64, _ record: InodeRecord, isListed: Bool) {
    let found = UInt32(names[number])
    func relate(_ kind: Damage.Kind, _ detail: String) {
      self.relate(kind, detail) { damage in
        damage.inode = number
        damage.noun = found == 0 ? "inode" : Self.noun(record.type)
      }
    }
    if number == InodeNumber.root.rawValue {
      if found != 0 { relate(.links, "the root has a name") }
      return
    }
    if found == 0 {
      if isListed && record.flags.contains(.orphan) { return }
      relate(.nameless, "a \(Self.noun(record.type)) that no name leads to")
      repairs.append(.adopt(number))
      return
    }
    if record.flags.contains(.trimming) && !isListed {
      relate(.map, "what a truncation left is on no list")
      repairs.append(.list(number))
    }
    if record.isDirectory {
      if found > 1 { relate(.links, "a directory with \(found) names") }
    } else if record.links != found {
      relate(.links, "its link count is \(record.links) and should be \(found)")
      repairs.append(.links(number, found))
    }
  }

  /// A map against the numbers in use. What is taken in the map and used by nobody is no error
  /// where something is lost: it may be what the lost piece named.
  func compare(_ file: MetadataFile, _ used: SparseBits, what: String) {
    var indexes = Set(used.blockIndexes)
    engine.forEachPage(of: file) { index in
      indexes.insert(index)
      return true
    }
    var free: (count: Int, first: UInt64?) = (0, nil)
    var idle: (count: Int, first: UInt64?) = (0, nil)
    for index in indexes.sorted() {
      let map = try? engine.page(PageID(file, UInt32(truncatingIfNeeded: index)))
      if map == nil { repairs.append(.map(file)) }
      guard let map else { continue }
      let block = used.block(index)
      for place in 0..<SparseBits.blockWords {
        let word = map.load(UInt64.self, at: place * 8)
        let wanted = block?[place] ?? 0
        guard word != wanted else { continue }
        let base = index * SparseBits.blockBits + UInt64(place) * 64
        Self.count(wanted & ~word, base, &free)
        if lost.isEmpty { Self.count(word & ~wanted, base, &idle) }
      }
    }
    if let first = free.first {
      relate(.map, "\(free.count) \(what) are in use and free in the map, from \(first) on")
    }
    if let first = idle.first {
      relate(.map, "\(idle.count) \(what) are taken in the map and not in use, from \(first) on")
    }
    if free.count + idle.count > 0 { repairs.append(.map(file)) }
  }

  private static func count(
    _ bits: UInt64, _ base: UInt64, _ sum: inout (count: Int, first: UInt64?)
  ) {
    guard bits != 0 else { return }
    sum.count += bits.nonzeroBitCount
    if sum.first == nil { sum.first = base + UInt64(bits.trailingZeroBitCount) }
  }

  private func compareCounts() {
    guard lost.isEmpty, let system = try? engine.page(PageID(.system, 0)) else { return }
    let counts = [
      (SystemPage.usedSlots, slots.count, "data slots"),
      (SystemPage.usedInodes, inodes.count, "inodes"),
      (SystemPage.usedPages, pages.count, "pages"),
    ]
    for (offset, used, what) in counts {
      let count = system.load(UInt64.self, at: offset)
      guard count != used else { continue }
      relate(.map, "\(count) \(what) are counted and \(used) are in use")
      repairs.append(.system)
    }
  }
}
