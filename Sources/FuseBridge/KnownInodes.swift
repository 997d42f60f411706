internal import POSIX
internal import Volume

/// The inodes the kernel knows: those with a lookup count, and so those that can have pages.
///
/// The volume counts lookups as well, to keep unlinked inodes alive; this is the bridge's own list
/// of what has to be flushed and dropped at lock, and of who may have dirtied pages.
final class KnownInodes: Sendable {
  private struct Entry {
    var lookups: UInt64 = 0
    var writers = 0
    /// Why pages could not be written back, until a writer was told.
    var refusal: Errno?
  }

  private let entries = Lock<[InodeNumber: Entry]>([:])

  func retain(_ inode: InodeNumber) {
    entries.withLock { $0[inode, default: Entry()].lookups += 1 }
  }

  func forget(_ inode: InodeNumber, _ count: UInt64) {
    entries.withLock { entries in
      guard let index = entries.index(forKey: inode) else { return }
      let left = entries.values[index].lookups
      precondition(count <= left, "more forgets than lookups")
      if left == count { entries.remove(at: index) } else { entries.values[index].lookups -= count }
    }
  }

  func addWriter(_ inode: InodeNumber) {
    entries.withLock { $0[inode]?.writers += 1 }
  }

  func removeWriter(_ inode: InodeNumber) {
    entries.withLock { $0[inode]?.writers -= 1 }
  }

  func refuse(_ inode: InodeNumber, _ errno: Errno) {
    entries.withLock { $0[inode]?.refusal = errno }
  }

  func takeRefusal(of inode: InodeNumber) -> Errno? {
    entries.withLock { entries in
      guard let refusal = entries[inode]?.refusal else { return nil }
      entries[inode]?.refusal = nil
      return refusal
    }
  }

  /// Whether the kernel may hold pages of an inode that were not written back.
  ///
  /// Only an open for writing makes such pages (a shared mapping holds one, too), and the kernel
  /// writes all of them back before the release that ends it (fuse_release in fs/fuse/file.c).
  func mayBeDirty(_ inode: InodeNumber) -> Bool {
    entries.withLock { ($0[inode]?.writers ?? 0) > 0 }
  }

  /// Whether any of them is open for writing.
  var haveWriters: Bool { entries.withLock { $0.values.contains { $0.writers > 0 } } }

  /// All of them, the root included, which the kernel knows without a lookup.
  var all: [InodeNumber] {
    entries.withLock { [.root] + $0.keys.filter { $0 != .root } }
  }
}
