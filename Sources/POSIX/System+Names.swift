import CSystem
import Glibc

/// The calls that take names as bytes, relative to a directory that is open. A link that has the
/// name itself is never followed.
extension System {
  /// A name for C. No name has a zero byte in it.
  static func text(_ name: [UInt8]) throws(Errno) -> [CChar] {
    guard !name.contains(0) else { throw .invalid }
    return name.map { CChar(bitPattern: $0) } + [0]
  }

  /// openat(2) with O_NOFOLLOW.
  package static func open(
    _ name: [UInt8], in directory: borrowing Descriptor, _ flags: OpenFlags, mode: UInt32 = 0o600
  ) throws(Errno) -> Descriptor {
    let parent = directory.rawValue
    let text = try text(name)
    let all = flags.union(.noFollow).rawValue | coffre_o_cloexec
    let number = try check { Int(unsafe coffre_open(parent, text, all, mode)) }
    return Descriptor(owning: Int32(number))
  }

  /// open(2) of a path, as everybody opens it: links are followed.
  package static func open(path: [UInt8], _ flags: OpenFlags) throws(Errno) -> Descriptor {
    let text = try text(path)
    let all = flags.rawValue | coffre_o_cloexec
    let number = try check { Int(unsafe coffre_open(AT_FDCWD, text, all, 0)) }
    return Descriptor(owning: Int32(number))
  }

  /// fstatat(2).
  package static func status(
    of name: [UInt8], in directory: borrowing Descriptor
  ) throws(Errno) -> FileStatus {
    let parent = directory.rawValue
    let text = try text(name)
    var status = stat()
    _ = try check { Int(unsafe fstatat(parent, text, &status, AT_SYMLINK_NOFOLLOW)) }
    return FileStatus(status)
  }

  /// mkdirat(2).
  package static func makeDirectory(
    _ name: [UInt8], in directory: borrowing Descriptor, mode: UInt32
  ) throws(Errno) {
    let parent = directory.rawValue
    let text = try text(name)
    _ = try check { Int(unsafe mkdirat(parent, text, mode)) }
  }

  /// symlinkat(2).
  package static func makeLink(
    _ name: [UInt8], to target: [UInt8], in directory: borrowing Descriptor
  ) throws(Errno) {
    let parent = directory.rawValue
    let (target, text) = (try text(target), try text(name))
    _ = try check { Int(unsafe symlinkat(target, parent, text)) }
  }

  /// Where a link leads, readlinkat(2).
  package static func linkTarget(
    of name: [UInt8], in directory: borrowing Descriptor
  ) throws(Errno) -> [UInt8] {
    let parent = directory.rawValue
    let text = try text(name)
    var bytes = [CChar](repeating: 0, count: 4096)
    let count = try check { unsafe readlinkat(parent, text, &bytes, bytes.count) }
    return bytes[..<count].map { UInt8(bitPattern: $0) }
  }

  /// unlinkat(2).
  package static func remove(
    _ name: [UInt8], in directory: borrowing Descriptor, isDirectory: Bool
  ) throws(Errno) {
    let parent = directory.rawValue
    let text = try text(name)
    _ = try check { Int(unsafe unlinkat(parent, text, isDirectory ? AT_REMOVEDIR : 0)) }
  }

  /// renameat(2), or EEXIST if the new name is there and must stay.
  package static func rename(
    _ name: [UInt8], in directory: borrowing Descriptor, to newName: [UInt8],
    in newDirectory: borrowing Descriptor, replacing: Bool
  ) throws(Errno) {
    let (from, to) = (directory.rawValue, newDirectory.rawValue)
    let (text, newText) = (try text(name), try text(newName))
    _ = try check {
      Int(
        unsafe replacing
          ? renameat(from, text, to, newText) : coffre_rename_new(from, text, to, newText))
    }
  }

  /// fchown(2).
  package static func changeOwner(
    of file: borrowing Descriptor, user: UInt32, group: UInt32
  ) throws(Errno) {
    let number = file.rawValue
    _ = try check { Int(fchown(number, user, group)) }
  }

  /// The owner of a link itself, fchownat(2).
  package static func changeOwner(
    ofLink name: [UInt8], in directory: borrowing Descriptor, user: UInt32, group: UInt32
  ) throws(Errno) {
    let parent = directory.rawValue
    let text = try text(name)
    _ = try check { Int(unsafe fchownat(parent, text, user, group, AT_SYMLINK_NOFOLLOW)) }
  }

  /// Sets when the content was changed last, futimens(3).
  package static func setModified(
    of file: borrowing Descriptor, seconds: Int64, nanoseconds: UInt32
  ) throws(Errno) {
    let number = file.rawValue
    let times = times(seconds, nanoseconds)
    _ = try check { Int(unsafe futimens(number, times)) }
  }

  /// The same of a link itself, utimensat(2).
  package static func setModified(
    ofLink name: [UInt8], in directory: borrowing Descriptor, seconds: Int64, nanoseconds: UInt32
  ) throws(Errno) {
    let parent = directory.rawValue
    let (text, times) = (try text(name), times(seconds, nanoseconds))
    _ = try check { Int(unsafe utimensat(parent, text, times, AT_SYMLINK_NOFOLLOW)) }
  }

  /// The time of the last access stays.
  private static func times(_ seconds: Int64, _ nanoseconds: UInt32) -> [timespec] {
    let omit = (1 << 30) - 2  // UTIME_OMIT
    return [
      timespec(tv_sec: 0, tv_nsec: omit),
      timespec(tv_sec: Int(seconds), tv_nsec: Int(nanoseconds)),
    ]
  }
}
