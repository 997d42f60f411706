internal import CFuse3

/// What is agreed with the kernel in INIT. Which capabilities, and why, is in shim.h.
enum Capabilities {
  /// One request carries up to 1 MiB (256 pages, the limit of fs.fuse.max_pages_limit): fewer round
  /// trips; measured 9 % less processor time than 128 KiB.
  static let largestRequest = 1 << 20

  static func negotiate(_ connection: inout fuse_conn_info, _ options: MountOptions) {
    connection.want |= coffre_fuse_wanted() & connection.capable
    connection.want &= ~coffre_fuse_refused()
    connection.max_write = UInt32(largestRequest)
    // Read-ahead and write-back in flight: 12, the default, starves two readers of large files.
    connection.max_background = 64
    connection.congestion_threshold = 48
    // libfuse refuses to start where this differs from the option it has read itself.
    if let largest = options.largestRead { connection.max_read = largest }
    connection.time_gran = 1
  }
}
