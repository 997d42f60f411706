import Bytes
package import Crypto
import Disk
import Format
import POSIX

/// The sealed store of one vault: pages and slots, changed by transactions, kept by a journal and
/// checkpoints.
///
/// Lock order: `writer` (rank 2), the volume's nodes, allocators, `store.tree` (rank 3), caches: an
/// allocator reads its map with its lock held. A checkpoint holds `checkpointing` (rank 1) for its
/// whole time and `writer` only while it takes its snapshot.
package final class Engine: Sendable {
  struct Writer {
    var records = ByteWriter(capacity: 64 << 10)
    /// Where to look for a free page and inode number.
    var nextPage: UInt64 = 1
    var nextInode: UInt64 = 1
    /// Segments that hold frames no root contains yet, the current one last.
    var segments: [UInt64] = []
  }

  /// What the roots of this session say; changed by checkpoints alone.
  struct Chain {
    var root: RootRecord
    var rootTag: Tag
    /// The tag of each copy as this session knows it; nil for one that was not true.
    var copyTags: [Tag?]
    /// The copy to overwrite first: the older or the damaged one.
    var olderCopy: Int
    var anchorCounter: UInt64
  }

  package struct Health: Sendable {
    /// Why nothing can be changed; nil while it can.
    var readOnly: String?
    var closed = false
    /// Of the newest root; here because whoever asks must not wait for a checkpoint.
    var generation: UInt64 = 0
    var anchorFailed = false
    var metaUsed: UInt64 = 0
    package var checkpoints = 0
  }

  let disk: any Disk
  package let options: EngineOptions
  let vault: [UInt8]
  let master: SecretBox
  let roots: RootFiles
  let anchor: AnchorFile?
  let meta: Containers
  let metaAllocator: SlotAllocator
  /// Nil on a read-only mount.
  let journal: Journal?
  package let store: PageStore
  package let data: DataSpace
  package let warnings: [OpenWarning]
  /// Unclean stops of the vault so far; each may have lost a part of the seal counts.
  package let uncleanStops: UInt32
  let writer: Lock<Writer>
  /// Journal segments in reserve; empty on a read-only mount.
  let segments: SegmentPool
  package let reserve: SpaceReserve
  let checkpointing: Lock<Chain>
  /// Held while the metadata space grows.
  let growing = Lock(())
  let health: Lock<Health>
  /// What the checkpoint thread is asked for, see `Checkpointer`.
  let requests = Monitor(CheckpointRequest())

  init(_ parts: consuming EngineParts) {
    disk = parts.disk
    options = parts.options
    vault = parts.vault
    master = parts.master
    roots = parts.roots
    anchor = parts.anchor
    meta = parts.meta
    metaAllocator = parts.metaAllocator
    journal = parts.journal
    store = parts.store
    data = parts.data
    warnings = parts.warnings
    uncleanStops = parts.chain.root.uncleanStops
    writer = Lock(parts.writer)
    segments = parts.segments
    reserve = SpaceReserve(disk: parts.disk)
    checkpointing = Lock(parts.chain)
    var health = parts.health
    health.generation = parts.chain.root.generation
    self.health = Lock(health)
  }

  package var isReadOnly: Bool { health.withLock { $0.readOnly != nil } }
  /// Why nothing can be changed any more; nil while it can, and where it never could.
  package var failure: String? { options.readOnly ? nil : health.withLock { $0.readOnly } }
  package var generation: UInt64 { health.withLock { $0.generation } }
  package var anchorFailed: Bool { health.withLock { $0.anchorFailed } }
  package var healedCopies: Int { store.healedCopies }

  /// Derives a key of a file from its seed; the number goes into the seed's last four bytes.
  /// `closed` once the keys are gone.
  package func fileKey(seed: [UInt8], number: UInt32) throws(EngineError) -> SealingKey {
    let context = Buffer(seed)
    context.store(context.load(UInt32.self, at: 28) ^ number, at: 28)
    return SealingKey(try master.derive(.file, context: context.bytes))
  }

  /// The key of notes for the audit log; `closed` once the keys are gone.
  package func noteKey() throws(EngineError) -> SealingKey {
    let zero = Buffer(count: 32)
    return SealingKey(try master.derive(.note, context: zero.bytes))
  }

  /// The key of directory hashes.
  package func nameHash() -> KeyedHash {
    let zero = Buffer(count: 32)
    return master.withSecret { secret in
      KeyedHash(
        key: KeyDerivation.derive(.directoryHash, from: secret, vault: vault, context: zero.bytes))
    }
  }

  /// Refuses all changes from now on. The first reason stays.
  package func turnReadOnly(_ reason: String) {
    health.withLock { if $0.readOnly == nil { $0.readOnly = reason } }
    store.stopHealing()
  }

  /// Refuses to tell anything once the volume is closed.
  package func checkOpen() throws(EngineError) {
    if health.withLock({ $0.closed }) { throw .closed }
  }

  package func checkWritable() throws(EngineError) {
    try health.withLock { state throws(EngineError) in
      if state.closed { throw .closed }
      if let reason = state.readOnly { throw .readOnly(reason) }
    }
  }
}

/// Everything an engine is put together from.
struct EngineParts {
  let disk: any Disk
  let options: EngineOptions
  let vault: [UInt8]
  let master: SecretBox
  let roots: RootFiles
  let anchor: AnchorFile?
  let meta: Containers
  let metaAllocator: SlotAllocator
  var journal: Journal?
  let store: PageStore
  let data: DataSpace
  var warnings: [OpenWarning]
  var writer: Engine.Writer
  let segments: SegmentPool
  var chain: Engine.Chain
  var health: Engine.Health
}

/// The master key of an open vault; wiped when the vault is closed.
package final class SecretBox: Sendable {
  private final class Holder: Sendable {
    let secret: SecretBytes
    let derivation: DerivationKey
    init(_ secret: consuming SecretBytes, vault: [UInt8]) {
      derivation = DerivationKey(master: secret, vault: vault)
      self.secret = secret
    }
  }

  private let holder: Lock<Holder?>

  package init(_ secret: consuming SecretBytes, vault: [UInt8]) {
    holder = Lock(Holder(secret, vault: vault))
  }

  /// Lends the secret. Using it after `wipe` is a broken invariant.
  package func withSecret<R>(_ body: (borrowing SecretBytes) -> R) -> R {
    guard let holder = holder.withLock({ $0 }) else {
      preconditionFailure("the master key was wiped")
    }
    return body(holder.secret)
  }

  /// The same for whoever may come late: `closed` after `wipe`.
  package func withSecretIfOpen<R>(
    _ body: (borrowing SecretBytes) -> R
  ) throws(EngineError) -> R {
    guard let holder = holder.withLock({ $0 }) else { throw .closed }
    return body(holder.secret)
  }

  /// A key for one purpose, see `KeyDerivation.derive`; `closed` after `wipe`.
  func derive(_ label: KeyLabel, context: RawSpan) throws(EngineError) -> SecretBytes {
    guard let holder = holder.withLock({ $0 }) else { throw .closed }
    return holder.derivation.derive(label, context: context)
  }

  package func wipe() { holder.withLock { $0 = nil } }
}
