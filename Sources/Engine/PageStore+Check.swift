import Bytes
import Crypto
import Disk
package import Format
import POSIX

/// What both copies of one metadata page or table came to.
package struct PageCheck: Hashable, Sendable {
  package let id: PageID
  package let slot: UInt32
  /// The copies that are not what their parent says: 0 is in `meta-a`, 1 in `meta-b`.
  package var bad: [Int] = []
  /// Whether the bad copy was written anew from the good one.
  package var isHealed = false
  /// No copy is true.
  package var isLost: Bool { bad.count == 2 }
}

/// Looking at both copies of everything the tag trees name.
extension PageStore {
  /// Checks what the trees name from a place on (see `named`), about `limit` of it. Returns the
  /// place to go on at; nil after the last.
  ///
  /// The tree is held, so nothing that is named now is given up and overwritten meanwhile.
  func check(
    from place: UInt64, limit: Int, scratch: CheckScratch, _ body: (PageCheck) -> Void
  ) -> UInt64? {
    tree.withRead {
      var next: UInt64? = place
      var leaves: [(id: PageID, reference: Reference)] = []
      while let current = next, leaves.count < limit {
        next = step(from: current, passing: { _ in }) { id, reference in
          // A table is read for what is below it, and healed by that: it is looked at before.
          if id.level > 0 {
            body(check(id, reference, scratch))
          } else {
            leaves.append((id, reference))
          }
        }
      }
      leaves.sort { $0.reference.slot < $1.reference.slot }
      var rest = leaves[...]
      while let first = rest.first {
        let run = rest.prefix(CheckScratch.pages).enumerated().prefix { index, leaf in
          leaf.reference.slot == first.reference.slot &+ UInt32(index)
            && (index == 0 || leaf.reference.slot % Layout.slotsPerContainer != 0)
        }.count
        checkRun(rest.prefix(run), scratch, body)
        rest = rest.dropFirst(run)
      }
      return next
    }
  }

  /// The tables above a page and the page itself, from the top, as the trees name them now.
  func check(pathTo id: PageID, scratch: CheckScratch, _ body: (PageCheck) -> Void) {
    tree.withRead {
      let height = tops[Int(id.file.rawValue)].height
      var level = height
      while true {
        let span = 7 * UInt32(level - min(level, id.level))
        let current = PageID(id.file, span < 32 ? id.index >> span : 0, level: level)
        guard let reference = try? reference(of: current), !reference.isHole else { return }
        body(check(current, reference, scratch))
        if level <= id.level { return }
        level -= 1
      }
    }
  }

  /// Tells of what the trees name at one place, see `named`, and returns the next place. Behind a
  /// table that cannot be read it goes on if `passing` does not throw. With `tree` held.
  func step<E: Error>(
    from place: UInt64, passing: (EngineError) throws(E) -> Void,
    _ body: (PageID, Reference) -> Void
  ) throws(E) -> UInt64? {
    let file = MetadataFile.allCases[Int(place >> 40)]
    let top = tops[Int(file.rawValue)]
    let index = place & (1 << 40 - 1)
    var level = top.height
    while index < top.capacity {
      let span: UInt64 = 1 << (7 * UInt64(level))
      let id = PageID(file, UInt32(index / span), level: level)
      let reference: Reference
      do throws(EngineError) { reference = try self.reference(of: id) } catch {
        try passing(error)
        return place - index + (index / (span * 128) + 1) * span * 128
      }
      if !reference.isHole && index % span == 0 { body(id, reference) }
      if reference.isHole || level == 0 { return place - index + (index / span + 1) * span }
      level -= 1
    }
    return file == MetadataFile.allCases.last ? nil : (place >> 40 + 1) << 40
  }

  /// The first page of a file at or after an index that the trees name.
  func namedPage(of file: MetadataFile, from index: UInt64) -> UInt64? {
    tree.withRead {
      var place: UInt64? = UInt64(file.rawValue) << 40 | index
      while let current = place, current >> 40 == UInt64(file.rawValue) {
        var found: UInt64?
        place = step(from: current, passing: { _ in }) { id, _ in
          if id.level == 0 { found = UInt64(id.index) }
        }
        if let found { return found }
      }
      return nil
    }
  }

  /// The pages of a file that have changed since the last checkpoint, in order.
  func changedPages(of file: MetadataFile) -> [UInt64] {
    tree.withRead {
      dirty.filter { $0.key.file == file && $0.key.level == 0 && $0.value != nil }
        .map { UInt64($0.key.index) }.sorted()
    }
  }

  private func check(_ id: PageID, _ reference: Reference, _ scratch: CheckScratch) -> PageCheck {
    var result: PageCheck?
    checkRun([(id: id, reference: reference)], scratch) { result = $0 }
    guard let result else { preconditionFailure("each page is told of") }
    return result
  }

  /// Checks pages in consecutive slots of one container. With `tree` held.
  private func checkRun(
    _ pages: ArraySlice<(id: PageID, reference: Reference)>, _ scratch: CheckScratch,
    _ body: (PageCheck) -> Void
  ) {
    guard let first = pages.first?.reference.slot else { return }
    for copy in scratch.copies.indices {
      scratch.readable[copy] = isReadable(first, pages.count, copy, scratch.copies[copy])
    }
    for (index, page) in pages.enumerated() {
      let range = (index * Layout.chunkSize)..<((index + 1) * Layout.chunkSize)
      var check = PageCheck(id: page.id, slot: page.reference.slot)
      for copy in scratch.copies.indices {
        let isThere =
          scratch.readable[copy] || isReadable(page.reference.slot, copy, scratch, range)
        if !(isThere && isTrue(page.id, page.reference, scratch, copy, range)) {
          check.bad.append(copy)
        }
      }
      if check.bad.count == 1, let bad = check.bad.first {
        check.isHealed = heal(bad, page.reference.slot, from: scratch.copies[1 - bad], range)
      }
      body(check)
    }
  }

  private func isReadable(_ slot: UInt32, _ count: Int, _ copy: Int, _ buffer: Buffer) -> Bool {
    var span = buffer.mutableBytes(in: 0..<(count * Layout.chunkSize))
    return (try? containers.read(slot..<(slot + UInt32(count)), copy: copy, into: &span)) ?? false
  }

  /// One page of a run that could not be read as a whole.
  private func isReadable(
    _ slot: UInt32, _ copy: Int, _ scratch: CheckScratch, _ range: Range<Int>
  ) -> Bool {
    let buffer = scratch.copies[copy]
    var span = buffer.mutableBytes(in: range)
    return (try? containers.read(slot..<(slot + 1), copy: copy, into: &span)) ?? false
  }

  private func isTrue(
    _ id: PageID, _ reference: Reference, _ scratch: CheckScratch, _ copy: Int, _ range: Range<Int>
  ) -> Bool {
    keys.contains { key in
      key.open(
        scratch.copies[copy], range, into: scratch.plain, at: 0, iv: reference.iv,
        tag: reference.tag, additional: id.additional)
    }
  }
}

/// Memory for looking at runs of pages in both copies.
package final class CheckScratch {
  /// One run: the tree is held while it is read, and a frame waits for that.
  package static let pages = 32
  let copies = [Buffer(count: pages * Layout.chunkSize), Buffer(count: pages * Layout.chunkSize)]
  let plain = Buffer(count: Layout.chunkSize)
  var readable = [false, false]

  package init() {}
}
