import Bytes
import Crypto
import Format
import POSIX

/// Re-keying of the metadata, a part at each checkpoint, long before 2^32 seals under one key.
extension Engine {
  private static let noSeed = [UInt8](repeating: 0, count: 32)

  /// The newest key, then the one before while pages under it are left.
  static func metadataKeys(
    _ root: RootRecord, master: borrowing SecretBytes, vault: [UInt8]
  ) -> [SealingKey] {
    let seeds =
      root.oldMetadataSeed == noSeed
      ? [root.metadataSeed] : [root.metadataSeed, root.oldMetadataSeed]
    var keys: [SealingKey] = []
    for seed in seeds {
      let context = Buffer(seed)
      keys.append(
        SealingKey(
          KeyDerivation.derive(.metadata, from: master, vault: vault, context: context.bytes)))
    }
    return keys
  }

  /// Takes a new key if the old one has done enough. A checkpoint that is abandoned after this has
  /// named nothing under the new key yet: the next one goes on with it.
  func startRekeying(_ chain: inout Chain) throws(EngineError) {
    guard chain.root.metadataSeals >= options.sealsPerKey else { return }
    guard chain.root.oldMetadataSeed == Self.noSeed else {
      // Twice as much is re-sealed as is changed, so this is out of reach.
      guard chain.root.metadataSeals < 1 << 32 - 1 << 24 else {
        turnReadOnly("too much was sealed under one key")
        throw .readOnly("too much was sealed under one key")
      }
      return
    }
    chain.root.oldMetadataSeed = chain.root.metadataSeed
    chain.root.metadataSeed = Random.bytes(32)
    chain.root.metadataSeals = 0
    chain.root.rekeyedPages = 0
    try useKeys(of: chain.root)
  }

  private func useKeys(of root: RootRecord) throws(EngineError) {
    store.use(
      try master.withSecretIfOpen { Self.metadataKeys(root, master: $0, vault: vault) })
  }

  /// Pages and tables to be sealed under the newest key with the next checkpoint, and where to go
  /// on after it; nil if none is left.
  func pagesToRekey(
    _ root: RootRecord
  ) throws(EngineError) -> (pages: [PageID: Page?], next: UInt64?) {
    var pages: [PageID: Page?] = [:]
    var next: UInt64? = root.rekeyedPages
    let count = 2 * store.dirtyCount + options.rekeyBatch
    guard try makeMetaRoom(for: checkpointNeed() + 3 * UInt64(count)) else { return (pages, next) }
    while let place = next, pages.count < count {
      do throws(EngineError) {
        let found = try store.tree.withRead { () throws(EngineError) in
          try store.named(from: place)
        }
        for id in found.pages {
          do throws(EngineError) { pages[id] = .some(try store.pageForWriter(id)) } catch {
            try Self.checkLost(error)
          }
        }
        next = found.next
      } catch {
        // What cannot be read for now keeps its key, and the checkpoint goes on without it.
        guard error.isUnreadable else { throw error }
        break
      }
    }
    return (pages, next)
  }

  /// Passes what is damaged, which it stays under any key.
  private static func checkLost(_ error: EngineError) throws(EngineError) {
    guard case .damaged = error else { throw error }
  }

  /// The root is durable: what it says of re-keying holds.
  func finishRekeying(_ chain: inout Chain) {
    // Where the keys are gone there is nothing to drop.
    if store.isRekeying, chain.root.oldMetadataSeed == Self.noSeed { try? useKeys(of: chain.root) }
  }

  /// What the next root says of re-keying, if `next` is the page to go on with.
  static func noteRekeyed(_ root: inout RootRecord, _ next: UInt64?) {
    if let next {
      root.rekeyedPages = next
    } else {
      root.oldMetadataSeed = noSeed
      root.rekeyedPages = 0
    }
  }
}

extension PageStore {
  /// What the trees name at one place of the metadata files, and the next place; nil after the
  /// last. A place is file * 2^40 + page. A table is found at the first page it covers, so that one
  /// that names nothing any more is found as well. What is below a table that is lost is passed
  /// over. With `tree` held.
  func named(from place: UInt64) throws(EngineError) -> (pages: [PageID], next: UInt64?) {
    var found: [PageID] = []
    let next = try step(
      from: place,
      passing: { (error) throws(EngineError) in
        guard case .damaged = error else { throw error }
      }
    ) { id, _ in found.append(id) }
    return (found, next)
  }
}
