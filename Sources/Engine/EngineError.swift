package import Disk
package import POSIX

/// Why the engine could not do what was asked. Names are those of stored objects, never a user's.
package enum EngineError: Error, Hashable, Sendable {
  /// The lower filesystem failed.
  case disk(DiskError)
  /// A stored piece does not authenticate; the string names it.
  case damaged(String)
  /// Made by a newer Coffre.
  case unsupported(String)
  /// This machine has seen a newer state of the vault than the one presented.
  case older(presented: UInt64, known: UInt64)
  /// The state this machine saw last is not in the history of the one presented.
  case forked
  /// The configuration is older than the one this vault was last used with.
  case olderConfiguration(presented: UInt64, known: UInt64)
  /// The journal does not end where replay had to stop, or may not end there.
  case journalDamaged(JournalGap)
  /// There is no room, for the engine's own reserve included.
  case noSpace(String)
  /// The engine refuses changes; the string is the reason as a sentence.
  case readOnly(String)
  /// An answer of POSIX that a change of the tree came to, such as ENOENT.
  case posix(Errno)
  /// The engine is closed and its keys are gone.
  case closed

  /// Whether a stored piece cannot be had, and what reads it is not to blame.
  package var isUnreadable: Bool {
    switch self {
    case .damaged: true
    case .disk(let failure): !failure.isTransient
    default: false
    }
  }
}

/// How a vault is opened.
package struct EngineOptions: Sendable {
  package var readOnly = false
  /// An older or forked state is accepted, and the discarded one refused from then on.
  package var acceptOlder = false
  /// What can be replayed of a damaged journal is taken as all of it.
  package var acceptJournalLoss = false
  /// The most memory the page cache takes beyond what is not yet checkpointed.
  package var cacheBytes = 32 << 20
  package var journalSegmentBytes = 8 << 20
  package var configurationGeneration: UInt64 = 1
  /// Seals under one key at which another is taken; no key ever does 2^32 (SP 800-38D, 8.3).
  package var sealsPerKey: UInt64 = 1 << 31
  /// Metadata pages re-sealed at a checkpoint beyond twice those that changed.
  package var rekeyBatch = 256
  /// Whether threads frame contents, release orphans and checkpoint by themselves; tests do it by
  /// hand.
  package var worksInBackground = true

  package init() {}
}

/// What a person should be told after an open that went well.
package enum OpenWarning: Hashable, Sendable {
  /// No anchor was there: what was presented is trusted.
  case firstUse
  /// Something is in the anchor's place that this machine did not write: as if none was there.
  case anchorDamaged
  case anchorUnwritable
  case olderAccepted
  case recovered(frames: Int)
  /// Read-only: what is shown ends before the gap.
  case journalCut(JournalGap)
  /// Writable: what was behind the gap is given up.
  case journalLossAccepted(JournalGap)
  /// Recovered in memory and read-only, since there is no room for a checkpoint.
  case diskFull
  case rootCopyHealed
}
