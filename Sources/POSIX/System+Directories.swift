import CSystem
import Glibc

extension System {
  package static func makeDirectory(
    _ name: String, in directory: borrowing Descriptor, mode: UInt32
  ) throws(Errno) {
    let parent = directory.rawValue
    _ = try check { Int(unsafe mkdirat(parent, name, mode)) }
  }

  package static func remove(
    _ name: String, in directory: borrowing Descriptor, isDirectory: Bool = false
  ) throws(Errno) {
    let parent = directory.rawValue
    _ = try check { Int(unsafe unlinkat(parent, name, isDirectory ? AT_REMOVEDIR : 0)) }
  }

  package static func rename(
    _ name: String, in directory: borrowing Descriptor, to newName: String,
    in newDirectory: borrowing Descriptor
  ) throws(Errno) {
    let from = directory.rawValue
    let to = newDirectory.rawValue
    _ = try check { Int(unsafe renameat(from, name, to, newName)) }
  }

  /// The names in a directory, without `.` and `..`, readdir(3). A name that is not UTF-8 is
  /// repaired.
  package static func names(in directory: borrowing Descriptor) throws(Errno) -> [String] {
    try nameBytes(in: directory).map { String(decoding: $0, as: UTF8.self) }
  }

  /// The same, as they are.
  package static func nameBytes(in directory: borrowing Descriptor) throws(Errno) -> [[UInt8]] {
    let parent = directory.rawValue
    let number = try check {
      Int(unsafe coffre_open(parent, ".", coffre_o_cloexec | coffre_o_directory, 0))
    }
    guard let stream = unsafe fdopendir(Int32(number)) else {
      close(Int32(number))
      throw .current
    }
    defer { unsafe closedir(stream) }
    var names: [[UInt8]] = []
    while true {
      errno = 0
      guard let entry = unsafe readdir(stream) else {
        if errno != 0 { throw .current }
        return names
      }
      let name = unsafe withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
        unsafe Array(bytes.prefix { $0 != 0 })
      }
      if name != [0x2e] && name != [0x2e, 0x2e] { names.append(name) }
    }
  }

  /// When a file was made, in nanoseconds since 1970, statx(2); nil where the filesystem does not
  /// keep that. No call sets it.
  package static func birth(of file: borrowing Descriptor) -> UInt64? {
    var time: UInt64 = 0
    return unsafe coffre_birth(file.rawValue, &time) == 0 ? time : nil
  }

  /// Permission bits of what is open, fchmod(2).
  package static func changeMode(
    of file: borrowing Descriptor, to mode: UInt32
  ) throws(Errno) {
    let number = file.rawValue
    _ = try check { Int(fchmod(number, mode)) }
  }

  /// Whether nobody may change it, root included: `chattr +i`.
  package static func isImmutable(_ file: borrowing Descriptor) -> Bool {
    coffre_is_immutable(file.rawValue) != 0
  }

  /// For root, where the filesystem has it: FS_IOC_SETFLAGS in ioctl_iflags(2).
  package static func setImmutable(
    _ file: borrowing Descriptor, _ isImmutable: Bool
  ) throws(Errno) {
    let number = file.rawValue
    _ = try check { Int(coffre_set_immutable(number, isImmutable ? 1 : 0)) }
  }

  /// Whether nothing can be changed there, because the filesystem is mounted so.
  package static func isReadOnly(_ file: borrowing Descriptor) -> Bool {
    let number = file.rawValue
    var status = statvfs()
    return unsafe fstatvfs(number, &status) == 0 && status.f_flag & 1 /* ST_RDONLY */ != 0
  }

  /// fstatvfs(3): total bytes, and bytes free for this user.
  package static func space(
    of directory: borrowing Descriptor
  ) throws(Errno) -> (total: UInt64, free: UInt64) {
    let number = directory.rawValue
    var status = statvfs()
    _ = try check { Int(unsafe fstatvfs(number, &status)) }
    let unit = UInt64(status.f_frsize)
    return (bytes(UInt64(status.f_blocks), unit), bytes(UInt64(status.f_bavail), unit))
  }

  /// What a filesystem may well claim is more than there are bytes to count.
  static func bytes(_ blocks: UInt64, _ unit: UInt64) -> UInt64 {
    let (bytes, overflow) = blocks.multipliedReportingOverflow(by: unit)
    return overflow ? .max : bytes
  }

  /// flock(2) without waiting; EWOULDBLOCK if another holds it.
  package static func lock(_ file: borrowing Descriptor, exclusive: Bool) throws(Errno) {
    let number = file.rawValue
    _ = try check { Int(flock(number, (exclusive ? LOCK_EX : LOCK_SH) | LOCK_NB)) }
  }
}
