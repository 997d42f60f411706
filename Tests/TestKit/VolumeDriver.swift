import Bytes
package import POSIX
package import Volume

/// Does operations to a volume the way the kernel does, one name at a time from the root.
package struct VolumeDriver: Sendable {
  package let volume: Volume
  package let caller: Caller

  package init(_ volume: Volume, caller: Caller = Caller(user: 1000, group: 1000, mask: 0o022)) {
    self.volume = volume
    self.caller = caller
  }

  package func find(_ path: Path) throws(VolumeError) -> InodeNumber {
    var current = InodeNumber.root
    for name in path { current = try volume.lookup(try FileName(name), in: current).inode }
    return current
  }

  private func place(
    _ path: Path
  ) throws(VolumeError) -> (directory: InodeNumber, name: FileName) {
    guard let name = path.last else { throw .system(.invalid) }
    let directory = try find(Array(path.dropLast()))
    // The kernel looks at this before it goes on to a second path.
    let mode = try volume.attributes(of: directory).mode
    guard mode & FileMode.typeMask == FileMode.directory else { throw .system(.notDirectory) }
    return (directory, try FileName(name))
  }

  /// Does an operation; nil if it went well, else the error.
  @discardableResult
  package func attempt(_ operation: Operation) -> VolumeError? {
    do throws(VolumeError) {
      try run(operation)
      return nil
    } catch { return error }
  }

  /// The same, as the error number alone.
  @discardableResult
  package func apply(_ operation: Operation) -> Errno? { attempt(operation)?.errno }

  private func run(_ operation: Operation) throws(VolumeError) {
    switch operation {
    case .create(let path):
      let (directory, name) = try place(path)
      _ = try volume.makeNode(
        name, in: directory, mode: 0o100644, device: 0, by: caller)
    case .makeDirectory(let path):
      let (directory, name) = try place(path)
      _ = try volume.makeDirectory(name, in: directory, mode: 0o755, by: caller)
    case .symlink(let path, let target):
      let (directory, name) = try place(path)
      _ = try volume.makeSymlink(name, in: directory, target: target, by: caller)
    case .link(let path, let newPath):
      let inode = try find(path)
      let (directory, name) = try place(newPath)
      _ = try volume.link(inode, as: name, in: directory)
    case .makeFIFO(let path):
      let (directory, name) = try place(path)
      _ = try volume.makeNode(
        name, in: directory, mode: FileMode.fifo | 0o644, device: 0, by: caller)
    case .unlink(let path):
      let (directory, name) = try place(path)
      try volume.unlink(name, in: directory)
    case .removeDirectory(let path):
      let (directory, name) = try place(path)
      try volume.removeDirectory(name, in: directory)
    case .rename(let path, let newPath, let mode):
      let (from, name) = try place(path)
      let (to, newName) = try place(newPath)
      try volume.rename(name, in: from, to: newName, in: to, mode)
    default: try runOnInode(operation)
    }
  }

  private func runOnInode(_ operation: Operation) throws(VolumeError) {
    switch operation {
    case .write(let path, let offset, let count, let fill):
      let buffer = Buffer(Operation.bytes(count, fill: fill))
      try volume.write(try find(path), buffer.bytes, at: UInt64(offset), clearsSetID: false)
    case .truncate(let path, let size):
      try change(path) { $0.size = UInt64(size) }
    case .setMode(let path, let mode): try change(path) { $0.mode = mode }
    case .setTimes(let path, let time):
      let time = TimeChange.to(Timestamp(seconds: time, nanoseconds: 0))
      try change(path) { change in
        change.accessed = time
        change.modified = time
      }
    case .punch(let path, let range): try allocate(path, range, .punch)
    case .allocate(let path, let range): try allocate(path, range, .allocate)
    case .zero(let path, let range): try allocate(path, range, .zero)
    case .setAttribute(let path, let name, let count, let fill):
      let value = Operation.bytes(count, fill: fill)
      try volume.setAttribute(name, to: value, of: try find(path), .either, by: caller)
    case .removeAttribute(let path, let name):
      try volume.removeAttribute(name, of: try find(path))
    case .sync(let path):
      if path.isEmpty {
        try volume.syncAll()
      } else {
        try volume.sync(try find(path), dataOnly: false)
      }
    default: preconditionFailure("an operation on names")
    }
  }

  private func change(
    _ path: Path, _ body: (inout AttributeChange) -> Void
  ) throws(VolumeError) {
    var change = AttributeChange()
    body(&change)
    _ = try volume.setAttributes(of: try find(path), change, by: caller)
  }

  private func allocate(
    _ path: Path, _ range: Range<Int>, _ mode: AllocationMode
  ) throws(VolumeError) {
    try volume.allocate(
      try find(path), UInt64(range.lowerBound)..<UInt64(range.upperBound), mode,
      clearsSetID: true)
  }
}
