package import POSIX

/// The number of an inode; stable across mounts. The root directory is 1.
package struct InodeNumber: RawRepresentable, Hashable, Sendable, Comparable {
  package let rawValue: UInt64
  package init(rawValue: UInt64) { self.rawValue = rawValue }
  package static let root = InodeNumber(rawValue: 1)
  /// From here on no volume has any: they are below 2^36 (Inodes.swift). Who shows a volume may use
  /// them for what it adds.
  package static let firstTag = InodeNumber(rawValue: 1 << 40)
  package var isTag: Bool { self >= .firstTag }
  package static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

/// A name in a directory: 1 to 255 bytes without NUL and `/`, and neither `.` nor `..`.
package struct FileName: Hashable, Sendable {
  package let bytes: [UInt8]

  /// Throws ENAMETOOLONG for more than 255 bytes, EINVAL for any other bad name.
  package init(_ bytes: [UInt8]) throws(VolumeError) {
    guard bytes.count <= 255 else { throw .system(.nameTooLong) }
    guard !bytes.isEmpty, bytes != [0x2e], bytes != [0x2e, 0x2e],
      !bytes.contains(0), !bytes.contains(0x2f)
    else { throw .system(.invalid) }
    self.bytes = bytes
  }

  package init(_ string: String) throws(VolumeError) { try self.init(Array(string.utf8)) }
}

/// Seconds and nanoseconds since 1970; 1901 to 2446 as on ext4.
package struct Timestamp: Hashable, Sendable, Comparable {
  package var seconds: Int64
  package var nanoseconds: UInt32

  package init(seconds: Int64, nanoseconds: UInt32) {
    self.seconds = seconds
    self.nanoseconds = nanoseconds
  }

  package static func < (left: Self, right: Self) -> Bool {
    (left.seconds, left.nanoseconds) < (right.seconds, right.nanoseconds)
  }
}

/// What stat(2) tells of an inode.
package struct Attributes: Hashable, Sendable {
  package var inode: InodeNumber
  package var generation: UInt32
  /// Type and permission bits, as in `st_mode`.
  package var mode: UInt32
  package var links: UInt32
  package var user: UInt32
  package var group: UInt32
  /// As in `st_rdev` (device nodes only).
  package var device: UInt64
  /// In bytes; of a symlink the length of its target.
  package var size: UInt64
  /// Stored 4096-byte chunks, times 8: the unit of `st_blocks` is 512 bytes.
  package var blocks: UInt64
  package var accessed: Timestamp
  package var modified: Timestamp
  package var changed: Timestamp
  package var born: Timestamp

  package init(
    inode: InodeNumber, generation: UInt32, mode: UInt32, links: UInt32, user: UInt32,
    group: UInt32,
    device: UInt64, size: UInt64, blocks: UInt64, accessed: Timestamp, modified: Timestamp,
    changed: Timestamp, born: Timestamp
  ) {
    self.inode = inode
    self.generation = generation
    self.mode = mode
    self.links = links
    self.user = user
    self.group = group
    self.device = device
    self.size = size
    self.blocks = blocks
    self.accessed = accessed
    self.modified = modified
    self.changed = changed
    self.born = born
  }
}

/// A time to set: a given one, or the moment of the change (UTIME_NOW). Nil where one is wanted
/// means UTIME_OMIT.
package enum TimeChange: Hashable, Sendable {
  case now
  case to(Timestamp)
}

/// What a setattr request changes; nil leaves a field as it is.
package struct AttributeChange: Hashable, Sendable {
  package var mode: UInt32?
  package var user: UInt32?
  package var group: UInt32?
  package var size: UInt64?
  package var accessed: TimeChange?
  package var modified: TimeChange?
  package var changed: TimeChange?
  /// The kernel asks to clear set-uid and set-gid bits (FATTR_KILL_SUIDGID).
  package var clearsSetID = false
  package init() {}
}

/// Who asks: the effective ids of the calling process.
package struct Caller: Hashable, Sendable {
  package var user: UInt32
  package var group: UInt32
  /// The process's file mode creation mask, as the kernel passes it (we negotiate DONT_MASK).
  package var mask: UInt32

  package init(user: UInt32, group: UInt32, mask: UInt32) {
    self.user = user
    self.group = group
    self.mask = mask
  }
}

/// A directory entry as readdir returns it.
package struct DirectoryEntry: Sendable {
  package let name: [UInt8]
  package let inode: InodeNumber
  /// The `S_IFMT` bits.
  package let type: UInt32
  /// Where to go on after this entry; stable while entries come and go. Always positive.
  package let cookie: UInt64

  package init(name: [UInt8], inode: InodeNumber, type: UInt32, cookie: UInt64) {
    self.name = name
    self.inode = inode
    self.type = type
    self.cookie = cookie
  }
}

/// How a rename treats the target, renameat2(2).
package enum RenameMode: Hashable, Sendable { case replace, noReplace, exchange }

/// What fallocate(2) asks for; other modes are refused with EOPNOTSUPP before they get here.
package enum AllocationMode: Hashable, Sendable {
  case allocate, allocateKeepingSize, punch, zero, zeroKeepingSize
}

/// How setxattr(2) treats an existing attribute.
package enum AttributeMode: Hashable, Sendable { case either, create, replace }

/// Space and inodes, for statfs(2).
package struct VolumeSpace: Hashable, Sendable {
  /// In 4096-byte chunks.
  package var totalChunks: UInt64
  package var freeChunks: UInt64
  package var totalInodes: UInt64
  package var freeInodes: UInt64

  package init(totalChunks: UInt64, freeChunks: UInt64, totalInodes: UInt64, freeInodes: UInt64) {
    self.totalChunks = totalChunks
    self.freeChunks = freeChunks
    self.totalInodes = totalInodes
    self.freeInodes = freeInodes
  }
}

/// Why an operation on the volume failed; `errno` is the one place that chooses its number.
package enum VolumeError: Error, Hashable, Sendable {
  /// A number of POSIX itself: ENOENT, ENOTEMPTY, ENOSPC, ...
  case system(Errno)
  /// A stored piece does not authenticate or is missing. `what` names the object, never a user's
  /// name.
  case damaged(String)
  /// The volume refuses changes, after a failed sync or because it is mounted so. The reason is a
  /// sentence.
  case readOnly(String)
  /// The volume is locked.
  case locked

  package var errno: Errno {
    switch self {
    case .system(let errno): errno
    case .damaged: .ioError
    case .readOnly: .readOnly
    case .locked: .accessDenied
    }
  }
}
