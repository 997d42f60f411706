import CSystem
import Glibc

/// An open file descriptor that is closed when its owner lets go of it.
package struct Descriptor: ~Copyable, Sendable {
  package let rawValue: Int32

  package init(owning rawValue: Int32) { self.rawValue = rawValue }

  deinit { close(rawValue) }

  /// Gives the number up without closing it.
  package consuming func detach() -> Int32 {
    let number = rawValue
    discard self
    return number
  }
}

/// How a file is opened, open(2). Close-on-exec is always set.
package struct OpenFlags: OptionSet, Sendable {
  package let rawValue: Int32
  package init(rawValue: Int32) { self.rawValue = rawValue }

  package static let readOnly: OpenFlags = []
  package static let writeOnly = OpenFlags(rawValue: O_WRONLY)
  package static let readWrite = OpenFlags(rawValue: O_RDWR)
  package static let create = OpenFlags(rawValue: O_CREAT)
  package static let exclusive = OpenFlags(rawValue: O_EXCL)
  package static let append = OpenFlags(rawValue: O_APPEND)
  package static let truncate = OpenFlags(rawValue: O_TRUNC)
  package static let nonBlocking = OpenFlags(rawValue: O_NONBLOCK)
  package static let directory = OpenFlags(rawValue: coffre_o_directory)
  package static let noFollow = OpenFlags(rawValue: coffre_o_nofollow)
  package static let path = OpenFlags(rawValue: coffre_o_path)
}

/// What stat(2) says of a lower file, as far as Coffre looks.
package struct FileStatus: Hashable, Sendable {
  package let device: UInt64
  package let inode: UInt64
  package let mode: UInt32
  package let user: UInt32
  package let group: UInt32
  /// The names the file has.
  package let links: UInt64
  package let size: UInt64
  /// In bytes.
  package let allocated: UInt64
  /// When the content was changed last, seconds since 1970, and what is beyond them.
  package let modifiedSeconds: Int64
  package let modifiedNanoseconds: UInt32

  /// The bits chmod(2) changes.
  package var permissions: UInt32 { mode & 0o7777 }
  package var isRegular: Bool { mode & S_IFMT == S_IFREG }
  package var isDirectory: Bool { mode & S_IFMT == S_IFDIR }
  package var isLink: Bool { mode & S_IFMT == S_IFLNK }
  /// One file, by whatever path.
  package var identity: String { "\(device):\(inode)" }
}

/// The system calls on files, each in one place; every one throws its errno.
package enum System {
  /// Repeats a call that a signal interrupted.
  static func check(_ call: () -> Int) throws(Errno) -> Int {
    while true {
      let result = call()
      if result >= 0 { return result }
      let failure = Errno.current
      guard failure == .interrupted else { throw failure }
    }
  }

  /// openat(2); `directory` nil is the current directory.
  package static func open(
    _ path: String, in directory: borrowing Descriptor, _ flags: OpenFlags, mode: UInt32 = 0o600
  ) throws(Errno) -> Descriptor {
    let parent = directory.rawValue
    return try open(path, parent, flags, mode)
  }

  package static func open(
    _ path: String, _ flags: OpenFlags, mode: UInt32 = 0o600
  ) throws(Errno) -> Descriptor {
    try open(path, AT_FDCWD, flags, mode)
  }

  private static func open(
    _ path: String, _ parent: Int32, _ flags: OpenFlags, _ mode: UInt32
  ) throws(Errno) -> Descriptor {
    let all = flags.rawValue | coffre_o_cloexec
    let number = try check { Int(unsafe coffre_open(parent, path, all, mode)) }
    return Descriptor(owning: Int32(number))
  }

  /// Repeats a call that moves bytes, from those already done on, until `count` are done or none
  /// moves; returns how many are.
  static func transfer(_ count: Int, _ call: (_ done: Int) -> Int) throws(Errno) -> Int {
    var done = 0
    while done < count {
      let moved = try check { call(done) }
      if moved == 0 { break }
      done += moved
    }
    return done
  }

  /// Reads until the span is full or the file ends, pread(2).
  package static func read(
    _ file: borrowing Descriptor, into span: inout MutableRawSpan, at offset: UInt64
  ) throws(Errno) -> Int {
    let number = file.rawValue
    return try unsafe span.withUnsafeMutableBytes { (bytes) throws(Errno) -> Int in
      guard let base = bytes.baseAddress else { return 0 }
      return try transfer(bytes.count) { done in
        unsafe pread(number, base + done, bytes.count - done, Int(offset) + done)
      }
    }
  }

  /// Writes the whole span, pwrite(2).
  package static func write(
    _ file: borrowing Descriptor, _ span: RawSpan, at offset: UInt64
  ) throws(Errno) {
    let number = file.rawValue
    let done = try unsafe span.withUnsafeBytes { (bytes) throws(Errno) -> Int in
      guard let base = bytes.baseAddress else { return 0 }
      return try transfer(bytes.count) { done in
        unsafe pwrite(number, base + done, bytes.count - done, Int(offset) + done)
      }
    }
    guard done == span.byteCount else { throw .noSpace }
  }

  package static func fdatasync(_ file: borrowing Descriptor) throws(Errno) {
    let number = file.rawValue
    _ = try check { Int(Glibc.fdatasync(number)) }
  }

  package static func fsync(_ file: borrowing Descriptor) throws(Errno) {
    let number = file.rawValue
    _ = try check { Int(Glibc.fsync(number)) }
  }

  package static func resize(_ file: borrowing Descriptor, to size: UInt64) throws(Errno) {
    let number = file.rawValue
    _ = try check { Int(ftruncate(number, Int(size))) }
  }

  /// fallocate(2) mode 0; grows the file only, where the filesystem can't.
  package static func allocate(
    _ file: borrowing Descriptor, _ range: Range<UInt64>
  ) throws(Errno) {
    let number = file.rawValue
    do throws(Errno) {
      _ = try check {
        Int(coffre_fallocate(number, 0, Int(range.lowerBound), Int(range.count)))
      }
    } catch {
      guard error == .notSupported else { throw error }
      if try status(of: file).size < range.upperBound {
        try resize(file, to: range.upperBound)
      }
    }
  }

  /// Punches a hole, fallocate(2). False where the filesystem can't.
  package static func punch(
    _ file: borrowing Descriptor, _ range: Range<UInt64>
  ) throws(Errno) -> Bool {
    let number = file.rawValue
    let punchAndKeepSize: Int32 = 3
    do throws(Errno) {
      _ = try check {
        Int(
          coffre_fallocate(number, punchAndKeepSize, Int(range.lowerBound), Int(range.count)))
      }
      return true
    } catch {
      guard error == .notSupported else { throw error }
      return false
    }
  }

  package static func status(of file: borrowing Descriptor) throws(Errno) -> FileStatus {
    let number = file.rawValue
    var status = stat()
    _ = try check { Int(unsafe fstat(number, &status)) }
    return FileStatus(status)
  }

  /// fstatat(2), links not followed.
  package static func status(
    of name: String, in directory: borrowing Descriptor
  ) throws(Errno) -> FileStatus {
    let parent = directory.rawValue
    var status = stat()
    _ = try check { Int(unsafe fstatat(parent, name, &status, AT_SYMLINK_NOFOLLOW)) }
    return FileStatus(status)
  }

  /// stat(2), links followed.
  package static func status(at path: String) throws(Errno) -> FileStatus {
    var status = stat()
    _ = try check { Int(unsafe fstatat(AT_FDCWD, path, &status, 0)) }
    return FileStatus(status)
  }
}

extension FileStatus {
  init(_ status: stat) {
    device = UInt64(status.st_dev)
    inode = UInt64(status.st_ino)
    mode = status.st_mode
    user = status.st_uid
    group = status.st_gid
    links = UInt64(status.st_nlink)
    size = UInt64(max(0, status.st_size))
    allocated = UInt64(max(0, status.st_blocks)) * 512
    modifiedSeconds = Int64(status.st_mtim.tv_sec)
    modifiedNanoseconds = UInt32(status.st_mtim.tv_nsec)
  }
}
