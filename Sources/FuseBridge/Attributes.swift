internal import CFuse3
internal import Glibc
internal import Volume

/// How long the kernel may believe what it was told, in seconds.
enum CacheLifetime {
  /// Names and attributes change through this mount only, so the kernel's copies never go stale; 60
  /// rather than for ever, so that a mistake heals, and because more was not measurably faster.
  static let attributes = 60.0
  static let name = 60.0
  /// Absent names: compilers and git probe many. A second keeps such bursts off us; the names that
  /// somebody asked for in vain are not kept in the kernel's memory for longer than that.
  static let absentName = 1.0
}

extension timespec {
  init(_ time: Timestamp) {
    self.init(tv_sec: Int(time.seconds), tv_nsec: Int(time.nanoseconds))
  }
}

extension Timestamp {
  init(_ time: timespec) {
    self.init(
      seconds: Int64(time.tv_sec), nanoseconds: UInt32(clamping: time.tv_nsec))
  }
}

extension stat {
  /// stat(3type). `st_blksize` is the chunk, below which a write costs a read.
  init(_ attributes: Attributes) {
    self.init()
    st_ino = ino_t(attributes.inode.rawValue)
    st_mode = attributes.mode
    st_nlink = nlink_t(attributes.links)
    st_uid = attributes.user
    st_gid = attributes.group
    st_rdev = dev_t(attributes.device)
    st_size = off_t(clamping: attributes.size)
    st_blksize = 4096
    st_blocks = blkcnt_t(clamping: attributes.blocks)
    st_atim = timespec(attributes.accessed)
    st_mtim = timespec(attributes.modified)
    st_ctim = timespec(attributes.changed)
  }
}

extension fuse_entry_param {
  init(_ attributes: Attributes) {
    self.init()
    ino = attributes.inode.rawValue
    generation = UInt64(attributes.generation)
    attr = stat(attributes)
    attr_timeout = CacheLifetime.attributes
    entry_timeout = CacheLifetime.name
  }

  /// A directory entry of which the kernel learns no more than number and type. It takes node 0 so
  /// (fuse_direntplus_link in fs/fuse/readdir.c), and counts no lookup for it.
  init(unknown inode: InodeNumber, type: UInt32) {
    self.init()
    attr.st_ino = ino_t(inode.rawValue)
    attr.st_mode = type
  }
}

extension statvfs {
  /// statvfs(3). Names have up to 255 bytes, as on ext4.
  init(_ space: VolumeSpace) {
    self.init()
    f_bsize = 4096
    f_frsize = 4096
    f_blocks = fsblkcnt_t(space.totalChunks)
    f_bfree = fsblkcnt_t(space.freeChunks)
    f_bavail = fsblkcnt_t(space.freeChunks)
    f_files = fsfilcnt_t(space.totalInodes)
    f_ffree = fsfilcnt_t(space.freeInodes)
    f_favail = fsfilcnt_t(space.freeInodes)
    f_namemax = 255
  }
}

/// What the kernel keeps for an open file or directory and shows again at release.
///
/// There is no table behind it: every request carries the inode, and an inode the kernel has open
/// is one it has looked up. The one thing to remember is whether the handle can dirty pages.
struct Handle {
  let isWritable: Bool

  init(isWritable: Bool) { self.isWritable = isWritable }

  init(flags: Int32) { isWritable = flags & O_ACCMODE != O_RDONLY }

  init(_ info: UnsafeMutablePointer<fuse_file_info>?) { unsafe isWritable = info?.pointee.fh == 1 }
}

extension fuse_file_info {
  /// Pages stay valid from one open to the next: nobody but the kernel changes a file. Measured: a
  /// second reading is 4 times faster. O_DIRECT is left to the kernel, which handles it for us.
  init(_ handle: Handle) {
    self.init()
    fh = handle.isWritable ? 1 : 0
    keep_cache = 1
  }
}
