import Bytes
package import POSIX

/// A failure of the lower filesystem, with what was tried on which object.
package struct DiskError: Error, Hashable, Sendable {
  package let errno: Errno
  /// The system call or step that failed, such as `pwrite`.
  package let operation: String
  /// The object's name in the vault, such as `data/0003`; never a name of the user.
  package let object: String

  package init(errno: Errno, operation: String, object: String) {
    self.errno = errno
    self.operation = operation
    self.object = object
  }

  /// The object, and what is in its place instead of a file of the vault's own; nil if that is not
  /// what failed.
  package var displaced: String? {
    guard ["open", "create", "mkdir", "readdir", "rename", "unlink", "flock"].contains(operation)
    else { return nil }
    let found: String
    switch errno {
    case .loop: found = "a symbolic link is in its place"
    case .isDirectory: found = "a folder is in its place"
    case .notDirectory: found = "its folder is none"
    case .tooManyLinks: found = "the file has a second name"
    case .invalid, .noAddress: found = "it is no regular file"
    default: return nil
    }
    return "\(object) (\(found))"
  }
}

/// The lower filesystem, as far as the engine needs it: the folder of one vault.
///
/// Names are relative, of the form `name` or `folder/name`, made by Coffre alone; links are never
/// followed and anything but a regular file is refused, for writing also one with a second name
/// (EMLINK): two objects in one file would overwrite each other, or a backup. Implementations:
/// `PosixDisk` on a real folder, `SimulatedDisk` in tests, which loses, tears and fails whatever
/// was not synced.
package protocol Disk: Sendable {
  /// Opens an object that exists. Throws ENOENT if it does not.
  func open(_ name: String, writable: Bool) throws(DiskError) -> any DiskFile
  /// Makes an object that does not exist (EEXIST otherwise), mode 0600. Its name lasts after
  /// `syncFolder`.
  func create(_ name: String) throws(DiskError) -> any DiskFile
  /// Makes a folder, mode 0700; no error if it is there. Its name lasts after `syncFolder` of its
  /// parent.
  func createFolder(_ name: String) throws(DiskError)
  /// Removes an object. ENOENT if it is not there.
  func remove(_ name: String) throws(DiskError)
  /// Renames an object over whatever has the new name. Lasts after `syncFolder` of the folders
  /// concerned.
  func rename(_ name: String, to newName: String) throws(DiskError)
  /// The names in a folder ("" is the vault itself), without "." and "..", in no order.
  func list(_ folder: String) throws(DiskError) -> [String]
  /// Makes creations, removals and renames in a folder ("" is the vault itself) last, fsync(2).
  func syncFolder(_ folder: String) throws(DiskError)
  /// Space of the lower filesystem in bytes, for this user.
  func space() throws(DiskError) -> DiskSpace
}

/// Space of a lower filesystem, in bytes.
package struct DiskSpace: Hashable, Sendable {
  package let total: UInt64
  package let free: UInt64

  package init(total: UInt64, free: UInt64) {
    self.total = total
    self.free = free
  }
}

/// An open object. Safe to use from several threads at once; closed when the last reference goes.
package protocol DiskFile: AnyObject, Sendable {
  /// Reads until the span is full or the object ends; returns the bytes read. Retries EINTR and
  /// short reads.
  func read(into span: inout MutableRawSpan, at offset: UInt64) throws(DiskError) -> Int
  /// Writes the whole span or throws; what a failed write left behind is unknown. Retries EINTR and
  /// short writes.
  func write(_ span: RawSpan, at offset: UInt64) throws(DiskError)
  /// Makes everything written last, fdatasync(2) (size included).
  func sync() throws(DiskError)
  /// Reserves space and grows the object to hold `range`, so that later writes there find room;
  /// existing bytes stay, new ones read as zeros (fallocate(2), mode 0). Falls back to growing
  /// only, where that is not supported.
  func allocate(_ range: Range<UInt64>) throws(DiskError)
  /// Gives the space of a range back; it reads as zeros then (PUNCH_HOLE | KEEP_SIZE). False where
  /// not supported.
  func punch(_ range: Range<UInt64>) throws(DiskError) -> Bool
  /// The size in bytes.
  func size() throws(DiskError) -> UInt64
  /// Cuts or grows the object.
  func resize(_ size: UInt64) throws(DiskError)
}
