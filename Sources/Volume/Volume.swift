package import Crypto
package import Disk
package import Engine
import Format
import POSIX

/// The decrypted tree of one vault, with the meaning POSIX gives it. Knows nothing of FUSE.
///
/// Lock order: `full` (rank 0), a node's `content` (rank 1; two nodes only in number order), the
/// engine's writer (rank 2), a node's `state` and the tables, the engine's allocators, its tree
/// (rank 3).
package final class Volume: Sendable {
  let engine: Engine
  let nodes = NodeTable()
  let directories: Directories
  let unframed = Lock(Unframed())
  let background = Monitor(BackgroundState())
  let scratch = ScratchPool()
  /// What readers met and could not read.
  package let unreadable = UnreadableLog()
  /// Directories some of whose names could not be read.
  let damagedDirectories = Lock<[UInt64: DamagedNames]>([:])
  /// Rank 0: held by whoever writes with the reserve.
  let full = Lock(())

  /// How long a lock goes on to release deleted files, in nanoseconds.
  private static let longestReap: UInt64 = 2_000_000_000

  init(engine: Engine) {
    self.engine = engine
    directories = Directories(hash: engine.nameHash())
  }

  package var warnings: [OpenWarning] {
    engine.anchorFailed ? engine.warnings + [.anchorUnwritable] : engine.warnings
  }
  package var isReadOnly: Bool { engine.isReadOnly }

  package var statistics: VolumeStatistics {
    VolumeStatistics(
      generation: engine.generation, healedCopies: engine.healedCopies,
      unreadablePieces: unreadable.count, failure: engine.failure)
  }

  /// Makes a new empty volume in an empty vault folder, with `owner`'s root directory.
  package static func create(
    on disk: any Disk, master: borrowing SecretBytes, vault: [UInt8], options: EngineOptions,
    anchor: (any Disk)?, owner: Caller
  ) throws(EngineError) {
    try Engine.create(on: disk, master: master, vault: vault, options: options)
    let engine = try Engine.open(
      on: disk, master: master, vault: vault, options: options, anchor: anchor)
    guard !engine.isReadOnly else { throw .noSpace("no room for a new vault") }
    try engine.transact { (transaction) throws(EngineError) in
      var root = InodeRecord()
      root.mode = FileMode.directory | 0o700
      root.links = 2
      root.user = owner.user
      root.group = owner.group
      root.begin()
      root.parent = InodeNumber.root.rawValue
      let number = try Inodes.make(root, in: transaction)
      guard number == InodeNumber.root.rawValue else {
        preconditionFailure("the first inode is the root")
      }
    }
    try engine.close()
  }

  /// Opens a volume: recovers what a crash left, unless `readOnly` checkpoints and starts a
  /// session. It is read-only as well where the disk has no room for that.
  package static func open(
    on disk: any Disk, master: borrowing SecretBytes, vault: [UInt8], options: EngineOptions,
    anchor: (any Disk)?
  ) throws(EngineError) -> Volume {
    let engine = try Engine.open(
      on: disk, master: master, vault: vault, options: options, anchor: anchor)
    let volume = Volume(engine: engine)
    if !engine.isReadOnly && options.worksInBackground {
      try engine.startCheckpointer()
      volume.startBackground()
    }
    return volume
  }

  /// After a change of the configuration: root and anchor remember its generation.
  package func noteConfiguration(generation: UInt64) throws(EngineError) {
    try engine.noteConfiguration(generation: generation)
  }

  /// Frames everything, writes the last root and forgets the keys. Every call after it is refused.
  package func close() throws(VolumeError) {
    stopBackground()
    try answer { () throws(EngineError) in
      var failure: EngineError?
      do throws(EngineError) {
        if !engine.isReadOnly {
          try frameAll()
          // What takes longer is for the next mount, and what is damaged stays on the list: nothing
          // is lost by it.
          let deadline = Clock.monotonic + Self.longestReap
          reapOrphans(goesOn: { Clock.monotonic < deadline })
        }
      } catch { failure = error }
      scratch.drop()
      defer { nodes.forgetKeys() }
      try engine.close()
      if let failure { throw failure }
    }
  }

  /// The one place where the engine's errors become the volume's.
  @discardableResult
  func answer<R>(_ body: () throws(EngineError) -> R) throws(VolumeError) -> R {
    do { return try body() } catch { throw failure(error) }
  }

  /// An engine's error as the volume's; damage is counted.
  func failure(_ error: EngineError) -> VolumeError {
    switch error {
    case .damaged(let what): unreadable.note(what)
    case .disk(let failure) where failure.errno == .ioError && failure.operation == "pread":
      unreadable.note("\(failure.object) (\(failure.operation))")
    default: break
    }
    return VolumeError(error)
  }
}

/// Figures for `status`, to be had without waiting for the disk.
package struct VolumeStatistics: Hashable, Sendable {
  package let generation: UInt64
  /// Metadata copies found bad and rewritten since the mount.
  package let healedCopies: Int
  /// Pieces that readers met and could not read since the mount.
  package let unreadablePieces: Int
  /// Why the volume was turned read-only, as a sentence; nil if it was not.
  package let failure: String?
}

extension VolumeError {
  init(_ error: EngineError) {
    switch error {
    case .posix(let errno): self = .system(errno)
    case .noSpace: self = .system(.noSpace)
    case .disk(let failure):
      switch failure.errno {
      case .noSpace, .overQuota, .noMemory: self = .system(failure.errno)
      default: self = failure.displaced.map { .damaged($0) } ?? .system(.ioError)
      }
    case .damaged(let what), .unsupported(let what): self = .damaged(what)
    case .journalDamaged(let gap): self = .damaged(gap.object)
    case .readOnly(let reason): self = .readOnly(reason)
    case .closed: self = .locked
    case .older, .forked, .olderConfiguration: self = .damaged("an older state")
    }
  }
}
