import Crypto
import Engine
import Format
import POSIX

/// What memory holds of an inode that the kernel knows, that is open, or that has contents no frame
/// names.
final class Node: Sendable {
  let number: UInt64
  /// Rank 1. Held shared while contents are read, exclusive while they or the size change.
  let content = ReadWriteLock()
  /// Rank 4, held for moments only.
  let state = Lock(State())

  struct State {
    var pending = PendingChunks()
    /// The size, where it differs from the record's.
    var size: UInt64?
    /// The time of the last write, until a frame tells it.
    var written: (seconds: Int64, nanoseconds: UInt32)?
    var keys: FileKeys?
    /// While re-keying, the first chunk that may be under the old key, and how many are due.
    var rekeyed: UInt64 = 0
    var rekeyingDue = 0
    /// Where the next chunk would lie next to the last one.
    var goal: UInt32 = 0
    /// Seals since the last frame, on top of the record's count.
    var seals: UInt64 = 0
    /// Whether what is pending takes the place of contents given up: close(2) waits for its frame.
    var replaces = false
    /// A write-back that failed where nobody could be told; the next flush or fsync tells.
    var failure: EngineError?

    var isSettled: Bool { pending.isEmpty && size == nil && written == nil }
  }

  init(_ number: UInt64) { self.number = number }
}

/// What stat(2) tells of contents that no frame names.
struct UnframedContents: Equatable {
  let size: UInt64?
  let written: Timestamp?
  let chunks: Int
}

/// The nodes in memory with the kernel's and the handles' counts.
final class NodeTable: Sendable {
  private struct Entry {
    let node: Node
    var lookups: UInt64 = 0
    var opens = 0
    /// Work in progress that needs the node to stay.
    var uses = 0
    var isIdle: Bool { lookups == 0 && opens == 0 && uses == 0 }
  }

  private let entries = Lock<[UInt64: Entry]>([:])
  /// Numbers of nodes that may have contents no frame names.
  private let changed = Lock<Set<UInt64>>([])

  /// Lends the node to `body`; it stays in memory meanwhile.
  func with<R>(
    _ number: UInt64, _ body: (Node) throws(EngineError) -> R
  ) throws(EngineError) -> R {
    let node = entries.withLock { entries in
      var entry = entries[number] ?? Entry(node: Node(number))
      entry.uses += 1
      entries[number] = entry
      return entry.node
    }
    defer { leave(number) }
    return try body(node)
  }

  /// What no frame says of the inode yet; nil if frames say everything.
  func unframed(_ number: UInt64) -> UnframedContents? {
    existing(number)?.state.withLock { state in
      if state.isSettled { return nil }
      return UnframedContents(
        size: state.size, written: state.written.map { Timestamp($0) },
        chunks: state.pending.stored)
    }
  }

  /// The node if it is in memory.
  func existing(_ number: UInt64) -> Node? { entries.withLock { $0[number]?.node } }

  func retain(_ number: UInt64) { change(number) { $0.lookups += 1 } }
  func open(_ number: UInt64) { change(number) { $0.opens += 1 } }

  /// Returns true if neither the kernel nor a handle knows the inode any more.
  func forget(_ number: UInt64, count: UInt64) -> Bool {
    drop(number) { entry in
      precondition(entry.lookups >= count, "the kernel forgets what it looked up")
      entry.lookups -= count
    }
  }

  func release(_ number: UInt64) -> Bool {
    drop(number) { entry in
      precondition(entry.opens > 0, "a release follows an open")
      entry.opens -= 1
    }
  }

  func isKnown(_ number: UInt64) -> Bool {
    entries.withLock { entries in
      guard let entry = entries[number] else { return false }
      return entry.lookups > 0 || entry.opens > 0
    }
  }

  /// Notes that no frame names the node's contents yet; to be called after they changed.
  func notePending(_ node: Node) { changed.withLock { _ = $0.insert(node.number) } }

  /// Every node with contents no frame names. Costs nothing for those that did not change.
  var pending: [UInt64] {
    changed.withLock { changed in
      // Looked at with the table held: who changes a node notes it after, so none is let go of that
      // changes meanwhile.
      changed = changed.filter { number in
        existing(number)?.state.withLock { !$0.isSettled } ?? false
      }
      return changed.sorted()
    }
  }

  /// Wipes the keys of all files, but for work under way.
  func forgetKeys() {
    for entry in entries.withLock({ $0.values }) { entry.node.state.withLock { $0.keys = nil } }
  }

  private func change(_ number: UInt64, _ body: (inout Entry) -> Void) {
    entries.withLock { entries in
      var entry = entries[number] ?? Entry(node: Node(number))
      body(&entry)
      entries[number] = entry
    }
  }

  private func leave(_ number: UInt64) {
    entries.withLock { entries in
      guard var entry = entries[number] else { return }
      entry.uses -= 1
      entries[number] = entry
      Self.letGo(number, entry, &entries)
    }
  }

  private func drop(_ number: UInt64, _ body: (inout Entry) -> Void) -> Bool {
    entries.withLock { entries in
      guard var entry = entries[number] else { return false }
      body(&entry)
      entries[number] = entry
      Self.letGo(number, entry, &entries)
      return entry.lookups == 0 && entry.opens == 0
    }
  }

  /// A node leaves memory when nobody knows it and everything about it is in frames.
  private static func letGo(_ number: UInt64, _ entry: Entry, _ entries: inout [UInt64: Entry]) {
    guard entry.isIdle else { return }
    if entry.node.state.withLock({ $0.isSettled }) { entries[number] = nil }
  }
}
