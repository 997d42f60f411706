package import POSIX

/// What a power loss makes of changes that no sync made last.
package enum CrashMode: String, Hashable, Sendable, CaseIterable {
  /// All are kept, as when only the process is killed.
  case keepAll
  /// All are lost.
  case dropAll
  /// Writes are kept, lost or torn at random; of the changes of names a random beginning is kept,
  /// as a journalling filesystem does.
  case prefix
  /// The same, but any name may be as it was before or after any of its changes. A rename is one
  /// change.
  case subset
  /// One of the last two, as the seed has it.
  case random
}

/// A call on the simulated disk, as a fault hook sees it.
package struct SimulatedCall: Hashable, Sendable {
  package enum Kind: String, Hashable, Sendable, CaseIterable {
    case open, list, space, read, size
    case write, sync, create, remove, rename, createFolder, syncFolder, allocate, punch, resize

    /// Whether the call changes something or makes it last, and so counts as a step.
    package var isStep: Bool {
      switch self {
      case .open, .list, .space, .read, .size: false
      default: true
      }
    }
  }

  package let kind: Kind
  /// The name of the object or folder; a file renamed since it was opened keeps its first name.
  package let object: String
  /// Steps before this call.
  package let step: Int
  /// Calls of this kind up to this one, which counts: the first is 1.
  package let count: Int
  /// The bytes that a read, write, allocate or punch is about.
  package let range: Range<UInt64>?
}

/// Chooses which calls fail and how. It runs inside the disk's lock and must not call the disk.
package typealias SimulatedFault = @Sendable (SimulatedCall) -> Errno?
