import Glibc
package import POSIX
import Volume

/// Does operations to a real directory, a mounted vault for example, through the kernel.
///
/// Links in the middle of a path are not followed, so that an error means the same as in the model.
/// Nobody else may change the directory at the same time.
package struct DirectoryDriver: Sendable {
  package let root: String

  package init(_ root: String) { self.root = root }

  /// Does an operation; nil if it went well, else the error number.
  @discardableResult
  package func apply(_ operation: Operation) -> Errno? {
    do throws(Errno) {
      switch operation {
      case .create(let path):
        _ = try open(path, O_RDWR | O_CREAT | O_EXCL)
      case .makeDirectory(let path): try unsafe call(path) { unsafe mkdir($0, 0o755) }
      case .symlink(let path, let target):
        try unsafe call(path) { link in
          unsafe Self.with(target) { unsafe Glibc.symlink($0, link) }
        }
      case .unlink(let path): try unsafe call(path) { unsafe Glibc.unlink($0) }
      case .removeDirectory(let path): try unsafe call(path) { unsafe rmdir($0) }
      case .link(let path, let newPath):
        _ = try kind(path)
        try unsafe call(path, newPath) { unsafe Glibc.link($0, $1) }
      case .rename(let path, let newPath, let mode):
        let flags: UInt32 =
          switch mode {
          case .replace: 0
          case .noReplace: 1
          case .exchange: 2
          }
        try unsafe call(path, newPath) {
          unsafe LinuxCalls.renameat2(AT_FDCWD, $0, AT_FDCWD, $1, flags)
        }
      default: try applyToContent(operation)
      }
      return nil
    } catch { return error }
  }

  /// Whether attributes can be as large as the model's: they are not on ext4, and tmpfs takes none
  /// before Linux 6.6.
  package var takesAttributes: Bool {
    let probe: Path = [Array("probe".utf8)]
    defer { apply(.unlink(probe)) }
    return apply(.create(probe)) == nil
      && apply(.setAttribute(probe, Array("user.a".utf8), count: 5000, fill: 1)) == nil
  }

  private func applyToContent(_ operation: Operation) throws(Errno) {
    switch operation {
    case .write(let path, let offset, let count, let fill):
      let bytes = Operation.bytes(count, fill: fill)
      try write(bytes, to: try openFile(path), at: offset)
    case .truncate(let path, let size):
      try System.resize(try openFile(path), to: UInt64(size))
    case .punch(let path, let range):
      let file = try openFile(path)
      _ = try System.punch(file, UInt64(range.lowerBound)..<UInt64(range.upperBound))
    case .setAttribute(let path, let name, let count, let fill):
      _ = try kind(path)
      let value = Operation.bytes(count, fill: fill)
      try unsafe call(path) { path in
        unsafe Self.with(name) { name in
          unsafe value.withUnsafeBytes {
            unsafe LinuxCalls.lsetxattr(path, name, $0.baseAddress, $0.count, 0)
          }
        }
      }
    case .removeAttribute(let path, let name):
      _ = try kind(path)
      try unsafe call(path) { path in
        unsafe Self.with(name) { unsafe LinuxCalls.lremovexattr(path, $0) }
      }
    case .sync(let path):
      if try kind(path) != S_IFLNK { try System.fsync(try open(path, O_RDONLY)) }
    default: preconditionFailure("an operation on content")
    }
  }

  private func write(
    _ bytes: [UInt8], to file: borrowing Descriptor, at offset: Int
  ) throws(Errno) {
    let number = file.rawValue
    var done = 0
    while done < bytes.count {
      let count = unsafe bytes[done...].withUnsafeBytes {
        unsafe pwrite(number, $0.baseAddress, $0.count, offset + done)
      }
      guard count > 0 else { throw .current }
      done += count
    }
  }

  // MARK: - Paths

  /// The file to read or write; what else there is is refused as the model does.
  private func openFile(_ path: Path) throws(Errno) -> Descriptor {
    switch try kind(path) {
    case S_IFDIR: throw .isDirectory
    case S_IFREG: return try open(path, O_RDWR)
    default: throw .invalid
    }
  }

  func open(_ path: Path, _ flags: Int32) throws(Errno) -> Descriptor {
    var number: Int32 = -1
    try unsafe call(path) { name in
      unsafe number = Glibc.open(name, flags | O_CLOEXEC | O_NOFOLLOW, 0o644)
      return number
    }
    return Descriptor(owning: number)
  }

  /// The `S_IFMT` bits of what has a path.
  func kind(_ path: Path) throws(Errno) -> UInt32 {
    try status(path).st_mode & S_IFMT
  }

  func status(_ path: Path) throws(Errno) -> stat {
    var status = stat()
    try unsafe call(path) { unsafe lstat($0, &status) }
    return status
  }

  /// Makes a call with a path whose folders are there.
  func call(_ path: Path, _ body: (UnsafePointer<CChar>) -> Int32) throws(Errno) {
    try checkFolders(of: path)
    let failure = unsafe Self.with(absolute(path)) { name in
      unsafe body(name) < 0 ? Errno.current : nil
    }
    if let failure { throw failure }
  }

  private func call(
    _ path: Path, _ other: Path,
    _ body: (UnsafePointer<CChar>, UnsafePointer<CChar>) -> Int32
  ) throws(Errno) {
    try checkFolders(of: path)
    try checkFolders(of: other)
    try unsafe call(path) { one in unsafe Self.with(absolute(other)) { unsafe body(one, $0) } }
  }

  private func checkFolders(of path: Path) throws(Errno) {
    for count in 0..<max(0, path.count - 1) {
      var status = stat()
      let failure = unsafe Self.with(absolute(Array(path[...count]))) { name in
        unsafe lstat(name, &status) < 0 ? Errno.current : nil
      }
      if let failure { throw failure }
      guard status.st_mode & S_IFMT == S_IFDIR else { throw .notDirectory }
    }
  }

  private func absolute(_ path: Path) -> [UInt8] {
    path.reduce(into: Array(root.utf8)) { $0 += [0x2f] + $1 }
  }

  /// Bytes as C takes them.
  static func with<R>(_ bytes: [UInt8], _ body: (UnsafePointer<CChar>) -> R) -> R {
    let text = bytes.map { CChar(bitPattern: $0) } + [0]
    return unsafe text.withUnsafeBufferPointer { buffer in
      guard let start = buffer.baseAddress else { preconditionFailure("it has its zero") }
      return unsafe body(start)
    }
  }
}

extension Operation {
  /// Whether the kernel leaves the answer to the filesystem, which the model is one of.
  ///
  /// It answers itself for attributes of a link, for a file put over a folder that it is in, and a
  /// link's target ends for it at a zero.
  package func isAlike(in model: ModelVolume) -> Bool {
    switch self {
    case .setAttribute(let path, _, _, _), .removeAttribute(let path, _):
      model.isSymlink(path) != true
    case .symlink(_, let target): !target.contains(0)
    case .rename(let path, let newPath, .replace):
      !(path.count > newPath.count && path.starts(with: newPath))
    default: true
    }
  }
}
