package import Bytes
import Crypto
import Disk
package import Format
package import POSIX

/// A page as it was published: nobody changes its bytes any more.
package final class Page: Sendable {
  package let bytes: Buffer
  package init(_ bytes: Buffer) { self.bytes = bytes }

  /// What a hole reads as.
  package static let zero = Page(Buffer(count: Layout.chunkSize))
}

/// The pages of all metadata files: what memory knows of them, and the tag trees that prove the
/// rest.
///
/// A published page is immutable; a change publishes another. So a checkpoint's snapshot is a list
/// of pages, and a reader needs `tree` only to see several pages of one moment.
package final class PageStore: @unchecked Sendable {
  /// Rank 3. Shared while pages are read that belong together, exclusive while pages are published
  /// or trees replaced. Guards `dirty` and `tops`. The only write under it heals a bad copy.
  package let tree = ReadWriteLock()
  /// Pages changed since the last checkpoint; nil means given up. Guarded by `tree`.
  private(set) var dirty: [PageID: Page?] = [:]
  /// Pages that replay could not change: what may be read of them later is not the newest. Guarded
  /// by `tree`.
  private var lost: Set<PageID> = []
  /// The tops of the tag trees. Guarded by `tree`.
  private(set) var tops: [TreeTop]
  /// The newest key, and the one before while pages under it are left. Guarded by `tree`.
  private(set) var keys: [SealingKey]
  let containers: Containers
  private let cache: PageCache
  private let healing: Lock<Healing>

  private struct Healing {
    var isAllowed: Bool
    var count = 0
  }

  init(
    containers: Containers, keys: [SealingKey], tops: [TreeTop], cachePages: Int, heals: Bool
  ) {
    self.containers = containers
    self.keys = keys
    self.tops = tops
    cache = PageCache(capacity: cachePages)
    healing = Lock(Healing(isAllowed: heals))
  }

  /// Metadata copies that were bad and have been rewritten from the good one.
  package var healedCopies: Int { healing.withLock { $0.count } }

  func noteHealed() { healing.withLock { $0.count += 1 } }

  /// Once somebody else may have written, a slot may be theirs.
  func stopHealing() { healing.withLock { $0.isAllowed = false } }

  /// The newest page. The caller holds `tree` shared, or is the one writer.
  package func page(_ id: PageID) throws(EngineError) -> Page {
    if let page = cache.page(id) { return page }
    if let page = dirty[id] { return page ?? Page.zero }
    let reference = try reference(of: id)
    if lost.contains(id) { throw .damaged(Self.describe(id, reference)) }
    if reference.isHole { return Page.zero }
    let page = Page(try load(id, reference))
    cache.insert(page, as: id)
    return page
  }

  /// For the one writer, who does not hold `tree`.
  func pageForWriter(_ id: PageID) throws(EngineError) -> Page {
    if let page = cache.page(id) { return page }
    return try tree.withRead { () throws(EngineError) in try page(id) }
  }

  /// For the one writer, to change it: one below a table that is lost is refused, since no root
  /// could name the change.
  func pageToChange(_ id: PageID) throws(EngineError) -> Page {
    try tree.withRead { () throws(EngineError) in
      if let page = dirty[id] { return page ?? Page.zero }
      _ = try reference(of: id)
      return try page(id)
    }
  }

  /// The same for where a page is stored.
  func referenceForWriter(of id: PageID) throws(EngineError) -> Reference {
    try tree.withRead { () throws(EngineError) in try reference(of: id) }
  }

  /// Makes changed pages the newest ones; nil gives a page up.
  func publish(_ pages: [PageID: Page?]) {
    tree.withWrite {
      for (id, page) in pages {
        dirty[id] = .some(page)
        cache.insert(page ?? Page.zero, as: id)
      }
    }
  }

  func setLost(_ pages: Set<PageID>) { tree.withWrite { lost = pages } }

  /// Only a checkpoint does this. What is in memory stays as it is.
  func use(_ keys: [SealingKey]) { tree.withWrite { self.keys = keys } }

  /// Forgets the keys and all plaintext.
  func forget() {
    tree.withWrite {
      keys = []
      dirty = [:]
    }
    cache.clear()
  }

  var isRekeying: Bool { tree.withRead { keys.count > 1 } }

  var key: SealingKey { tree.withRead { keys[0] } }

  var dirtyCount: Int { tree.withRead { dirty.count } }

  func snapshot() -> [PageID: Page?] { tree.withRead { dirty } }

  /// A checkpoint is durable: its tables and tops become the newest, its pages are clean.
  func install(_ snapshot: [PageID: Page?], tables: [PageID: Page], tops newTops: [TreeTop]) {
    tree.withWrite {
      for (id, page) in snapshot {
        if let current = dirty[id], current === page { dirty[id] = nil }
      }
      for (id, page) in tables { cache.insert(page, as: id) }
      tops = newTops
    }
  }

  /// The reference of a page or table in the last checkpoint.
  func reference(of id: PageID) throws(EngineError) -> Reference {
    let top = tops[Int(id.file.rawValue)]
    guard id.level <= top.height,
      UInt64(id.index) < UInt64(Layout.topReferences) << (7 * UInt64(top.height - id.level))
    else { return .hole }
    if id.level == top.height { return try top.references[Int(id.index)].checked() }
    let table = try page(id.table)
    return try Reference(from: table.bytes, at: id.position * Layout.referenceSize).checked()
  }

  /// Reads a page from the first copy that is true, and mends the other.
  private func load(_ id: PageID, _ reference: Reference) throws(EngineError) -> Buffer {
    let plain = Buffer(count: Layout.chunkSize)
    let sealed = Buffer(count: Layout.chunkSize)
    var bad: [Int] = []
    var failure: DiskError?
    for copy in containers.folders.indices {
      do {
        var span = sealed.mutableBytes(in: 0..<Layout.chunkSize)
        let slot = reference.slot..<(reference.slot + 1)
        if try containers.read(slot, copy: copy, into: &span),
          keys.contains(where: { key in
            key.open(
              sealed, 0..<Layout.chunkSize, into: plain, at: 0, iv: reference.iv,
              tag: reference.tag, additional: id.additional)
          })
        {
          for copy in bad { heal(copy, reference.slot, from: sealed, 0..<Layout.chunkSize) }
          return plain
        }
      } catch {
        failure = error
      }
      bad.append(copy)
    }
    if let failure { throw .disk(failure) }
    throw .damaged(Self.describe(id, reference))
  }

  /// Identical bytes over a bad twin: the one write to a named slot that is allowed (I1). Whether
  /// it was done; where it failed the good copy still serves, and the next read tries again.
  @discardableResult
  func heal(_ copy: Int, _ slot: UInt32, from sealed: Buffer, _ range: Range<Int>) -> Bool {
    guard healing.withLock({ $0.isAllowed }),
      (try? containers.write(sealed.bytes(in: range), at: slot, copy: copy)) != nil
    else { return false }
    noteHealed()
    return true
  }

  static func describe(_ id: PageID, _ reference: Reference) -> String {
    let what = id.level == 0 ? "page" : "table of level \(id.level)"
    let objects = ["meta-a", "meta-b"].map { Containers.name(of: reference.slot, in: $0) }
      .joined(separator: " and ")
    return "\(what) \(id.index) of \(id.file), "
      + "\(objects) slot \(Containers.place(of: reference.slot))"
  }
}
