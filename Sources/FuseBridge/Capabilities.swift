internal import CFuse3

/// What is agreed with the kernel in INIT, and why. A capability is asked for only where the kernel
/// offers it.
enum Capabilities {
  /// One request carries up to 1 MiB (256 pages, the limit of fs.fuse.max_pages_limit): fewer round
  /// trips; measured 9 % less processor time than 128 KiB.
  static let largestRequest = 1 << 20

  private static let wanted: [Int32] = [
    // Small writes gather in the page cache: the largest single gain (2.6 to 6 times).
    FUSE_CAP_WRITEBACK_CACHE,
    // Lookups and listings of one directory run side by side; the volume has its own locks.
    FUSE_CAP_PARALLEL_DIROPS,
    // Several reads of one file at once: read-ahead keeps both cores busy.
    FUSE_CAP_ASYNC_READ,
    FUSE_CAP_ASYNC_DIO,
    // O_TRUNC arrives with OPEN, so that truncation and a new file key are one step of the volume.
    FUSE_CAP_ATOMIC_O_TRUNC,
    // Attributes come with the listing where somebody wants them: `du` and `ls -l` halve their
    // time.
    FUSE_CAP_READDIRPLUS,
    FUSE_CAP_READDIRPLUS_AUTO,
    // Targets of links are kept like pages, and dropped like pages at lock.
    FUSE_CAP_CACHE_SYMLINKS,
    // Access control lists: the kernel enforces what the volume stores.
    FUSE_CAP_POSIX_ACL,
    // The umask comes to us, because a default list of the directory replaces it, acl(5).
    FUSE_CAP_DONT_MASK,
    // Pages go when we say so, and only then: our own mtime of a file that is being written differs
    // from the kernel's, and must not throw its pages away.
    FUSE_CAP_EXPLICIT_INVAL_DATA,
  ]

  private static let refused: [Int32] = [
    // Takes precedence over EXPLICIT_INVAL_DATA; see there.
    FUSE_CAP_AUTO_INVAL_DATA,
    // Every byte passes through our memory, to be sealed: splice measured 10 % more processor time.
    FUSE_CAP_SPLICE_READ, FUSE_CAP_SPLICE_WRITE, FUSE_CAP_SPLICE_MOVE,
    // Version 1: we would have to clear set-uid bits at every write, whoever writes. Version 2,
    // which says when, is taken in Wire.swift; on a kernel without it the kernel clears them by
    // setattr.
    FUSE_CAP_HANDLE_KILLPRIV,
    // Locks between programs of this machine are the kernel's business; a lock that waits would
    // hold one of our threads.
    FUSE_CAP_POSIX_LOCKS, FUSE_CAP_FLOCK_LOCKS,
  ]

  static func negotiate(_ connection: inout fuse_conn_info, _ options: MountOptions) {
    for capability in wanted { connection.want |= UInt32(capability) & connection.capable }
    for capability in refused { connection.want &= ~UInt32(capability) }
    connection.max_write = UInt32(largestRequest)
    // Read-ahead and write-back in flight: 12, the default, starves two readers of large files.
    connection.max_background = 64
    connection.congestion_threshold = 48
    // libfuse refuses to start where this differs from the option it has read itself.
    if let largest = options.largestRead { connection.max_read = largest }
    connection.time_gran = 1
  }
}
