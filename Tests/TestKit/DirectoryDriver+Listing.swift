import Bytes
import Glibc
package import POSIX

extension DirectoryDriver {
  /// The whole tree below the root.
  ///
  /// - Parameter ownPrefix: of the names of attributes that count; the system may add its own.
  package func listing(ownPrefix: String = "user.") throws(Errno) -> Listing {
    var listing = Listing()
    var first: [UInt64: String] = [:]
    var waiting: [Path] = [[]]
    while let path = waiting.popLast() {
      let status = try status(path)
      let text = Listing.text(path)
      let number = UInt64(status.st_ino)
      first[number] = first[number] ?? text
      var entry = Listing.Entry(kind: .other, links: Int(status.st_nlink))
      entry.first = first[number] ?? ""
      switch status.st_mode & S_IFMT {
      case S_IFREG:
        entry.kind = .file
        entry.size = Int(status.st_size)
        entry.content = try content(path).withoutZeros
      case S_IFDIR:
        entry.kind = .directory
        // Depth first in the order of names, as the model goes, so that `first` means the same.
        for name in try names(path).reversed() { waiting.append(path + [name]) }
      case S_IFLNK:
        entry.kind = .symlink
        entry.target = try target(path)
      default: break
      }
      if entry.kind != .symlink { entry.attributes = try attributes(path, ownPrefix) }
      listing.entries[text] = entry
    }
    return listing
  }

  private func content(_ path: Path) throws(Errno) -> SparseContent {
    let file = try open(path, O_RDONLY)
    let buffer = Buffer(count: 256 * 1024)
    var content = SparseContent()
    while true {
      var span = buffer.mutableBytes(in: 0..<buffer.count)
      let count = try System.read(file, into: &span, at: UInt64(content.size))
      if count == 0 { return content }
      content.write(buffer.load(0..<count), 0..<count, at: content.size)
    }
  }

  private func names(_ path: Path) throws(Errno) -> [[UInt8]] {
    let folder = try open(path, O_RDONLY | O_DIRECTORY).detach()
    guard let stream = unsafe fdopendir(folder) else { throw .current }
    defer { unsafe closedir(stream) }
    var names: [[UInt8]] = []
    while let entry = unsafe readdir(stream) {
      let name = unsafe withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
        unsafe [UInt8](bytes.prefix { $0 != 0 })
      }
      if name != [0x2e] && name != [0x2e, 0x2e] { names.append(name) }
    }
    return names.sorted { $0.lexicographicallyPrecedes($1) }
  }

  private func target(_ path: Path) throws(Errno) -> [UInt8] {
    try unsafe bytes(path, 8192) { unsafe readlink($0, $1, $2) }
  }

  private func attributes(_ path: Path, _ prefix: String) throws(Errno) -> [[UInt8]: [UInt8]] {
    let names = try unsafe bytes(path, 65536) { unsafe LinuxCalls.llistxattr($0, $1, $2) }
    var attributes: [[UInt8]: [UInt8]] = [:]
    for name in names.split(separator: 0) where name.starts(with: prefix.utf8) {
      attributes[Array(name)] = try unsafe bytes(path, 65536) { path, value, count in
        unsafe Self.with(Array(name)) { unsafe LinuxCalls.lgetxattr(path, $0, value, count) }
      }
    }
    return attributes
  }

  /// What a call puts into a buffer of some size, of which it returns how much that is.
  private func bytes(
    _ path: Path, _ count: Int,
    _ body: (UnsafePointer<CChar>, UnsafeMutablePointer<CChar>, Int) -> Int
  ) throws(Errno) -> [UInt8] {
    var bytes = [CChar](repeating: 0, count: count)
    var length = 0
    try unsafe call(path) { name in
      unsafe length = bytes.withUnsafeMutableBufferPointer { buffer in
        guard let start = buffer.baseAddress else { return 0 }
        return unsafe body(name, start, buffer.count)
      }
      return length < 0 ? -1 : 0
    }
    return bytes[..<length].map { UInt8(bitPattern: $0) }
  }
}
