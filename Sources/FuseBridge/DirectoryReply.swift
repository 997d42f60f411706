internal import Bytes
internal import CFuse3
internal import Glibc
internal import Volume

/// How much room a directory listing has left, so that no more entries are gathered than fit.
struct DirectorySpace {
  private var left: Int
  /// What an entry takes beside its name: fuse_dirent, or fuse_direntplus, of linux/fuse.h.
  private let header: Int

  init(size: Int, plus: Bool) {
    left = size
    header = plus ? 152 : 24
  }

  mutating func take(_ nameLength: Int) -> Bool {
    left -= (header + nameLength + 7) & ~7
    return left >= 0
  }
}

/// The answer to READDIR and READDIRPLUS: entries in the kernel's format in the worker's buffer.
@safe
struct DirectoryReply: ~Copyable {
  private let request: fuse_req_t?
  private let size: Int
  private let buffer: Buffer
  private var used = 0

  init(_ request: fuse_req_t?, _ size: Int) {
    unsafe self.request = request
    self.size = size
    buffer = Worker.current.buffer(size)
  }

  func space(plus: Bool) -> DirectorySpace { DirectorySpace(size: size, plus: plus) }

  /// False where the entry does not fit.
  mutating func add(_ entry: DirectoryEntry) -> Bool {
    let parameters = fuse_entry_param(unknown: entry.inode, type: entry.type)
    let request = unsafe request
    return unsafe add(entry) { start, space, name in
      var status = parameters.attr
      return unsafe fuse_add_direntry(
        request, start, space, name, &status, off_t(entry.cookie))
    }
  }

  /// The same with attributes, for READDIRPLUS.
  mutating func add(_ entry: DirectoryEntry, _ attributes: Attributes?) -> Bool {
    var parameters =
      if let attributes { fuse_entry_param(attributes) } else {
        fuse_entry_param(unknown: entry.inode, type: entry.type)
      }
    let request = unsafe request
    return unsafe add(entry) { start, space, name in
      unsafe fuse_add_direntry_plus(
        request, start, space, name, &parameters, off_t(entry.cookie))
    }
  }

  private mutating func add(
    _ entry: DirectoryEntry,
    _ write: (UnsafeMutablePointer<CChar>?, Int, UnsafePointer<CChar>?) -> Int
  ) -> Bool {
    var space = buffer.mutableBytes(in: used..<size)
    let needed = unsafe space.withUnsafeMutableBytes { target in
      unsafe (entry.name + [0]).withUnsafeBufferPointer { name in
        unsafe name.withMemoryRebound(to: CChar.self) { name in
          unsafe write(
            target.baseAddress?.assumingMemoryBound(to: CChar.self), target.count, name.baseAddress)
        }
      }
    }
    guard needed <= size - used else { return false }
    used += needed
    return true
  }

  @discardableResult
  func send(_ reply: consuming Reply) -> Bool { reply.listing(buffer.bytes(in: 0..<used)) }
}
