import CSystem
import Glibc

/// What is done to a path as a whole, before anything is opened.
extension System {
  /// The absolute path without links, realpath(3). EILSEQ if it is not UTF-8.
  package static func realPath(_ path: String) throws(Errno) -> String {
    guard let found = unsafe realpath(path, nil) else { throw .current }
    defer { unsafe free(found) }
    guard let path = unsafe String(validatingCString: found) else { throw .illegalSequence }
    return path
  }

  package static func makeDirectory(_ path: String, mode: UInt32) throws(Errno) {
    _ = try check { Int(unsafe mkdir(path, mode)) }
  }

  package static func remove(_ path: String) throws(Errno) {
    _ = try check { Int(unsafe unlink(path)) }
  }

  /// Whether names may be made in a directory, access(2).
  package static func mayChange(directory path: String) -> Bool {
    unsafe access(path, W_OK | X_OK) == 0
  }

  /// Removes an empty directory, rmdir(2).
  package static func removeDirectory(_ path: String) throws(Errno) {
    _ = try check { Int(unsafe rmdir(path)) }
  }

  /// stat(2) without following a last link.
  package static func linkStatus(at path: String) throws(Errno) -> FileStatus {
    var status = stat()
    _ = try check { Int(unsafe lstat(path, &status)) }
    return FileStatus(status)
  }

  /// Where a link leads, readlink(2): at most 4096 bytes of it.
  package static func readLink(_ path: String) throws(Errno) -> [UInt8] {
    var bytes = [CChar](repeating: 0, count: 4096)
    let count = try check { unsafe readlink(path, &bytes, bytes.count) }
    return bytes[..<count].map { UInt8(bitPattern: $0) }
  }

  /// Where a file that is open is by now, as the kernel tells it in /proc; nil if that is no path,
  /// or not to be known.
  package static func path(of file: borrowing Descriptor) -> String? {
    guard let bytes = try? readLink("/proc/self/fd/\(file.rawValue)"), bytes.first == 0x2f else {
      return nil
    }
    return String(validating: bytes, as: UTF8.self)
  }

  /// The filesystem of what a link of /proc leads to, `major:minor`, without asking anything of it.
  package static func device(ofOpen path: String) -> String? {
    var major: UInt32 = 0
    var minor: UInt32 = 0
    guard unsafe coffre_device_of(path, &major, &minor) == 0 else { return nil }
    return "\(major):\(minor)"
  }

  /// A whole file such as those of /proc, which tell no size.
  package static func readFile(_ path: String, limit: Int) throws(Errno) -> [UInt8] {
    try readFile(try open(path, .readOnly), limit: limit)
  }

  /// The same of one that is open, from where it is.
  package static func readFile(
    _ file: borrowing Descriptor, limit: Int
  ) throws(Errno) -> [UInt8] {
    let number = file.rawValue
    var bytes: [UInt8] = []
    var piece = [UInt8](repeating: 0, count: 4096)
    while bytes.count < limit {
      let count = try check { unsafe Glibc.read(number, &piece, piece.count) }
      if count == 0 { break }
      bytes += piece[..<count]
    }
    return bytes
  }

  /// Takes a mount out of the tree, even one in use, umount2(2) with MNT_DETACH.
  package static func detachMount(_ path: String) throws(Errno) {
    _ = try check { Int(unsafe coffre_unmount(path)) }
  }

  /// The home folder the user database names, getpwuid(3).
  package static var home: String? {
    guard let entry = unsafe getpwuid(getuid()), let home = unsafe entry.pointee.pw_dir else {
      return nil
    }
    return unsafe String(validatingCString: home)
  }
}
