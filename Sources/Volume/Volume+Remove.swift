import Engine
import Format
import POSIX

extension Volume {
  package func unlink(_ name: FileName, in parent: InodeNumber) throws(VolumeError) {
    try answer { () throws(EngineError) in
      let number = try engine.transact(frees: true) { (transaction) throws(EngineError) in
        var directory = try directory(parent.rawValue, in: transaction)
        guard let found = try directories.find(name.bytes, root: directory.top, in: transaction)
        else { throw EngineError.posix(.noSuchFile) }
        guard found.entry.type != FileMode.directory else {
          throw EngineError.posix(.isDirectory)
        }
        try remove(found.entry, from: &directory, parent.rawValue, in: transaction)
        try dropLink(found.entry.inode, in: transaction)
        return found.entry.inode
      }.result
      unknownUnlessKept(number)
    }
  }

  package func removeDirectory(_ name: FileName, in parent: InodeNumber) throws(VolumeError) {
    try answer { () throws(EngineError) in
      let number = try engine.transact(frees: true) { (transaction) throws(EngineError) in
        var directory = try directory(parent.rawValue, in: transaction)
        guard let found = try directories.find(name.bytes, root: directory.top, in: transaction)
        else { throw EngineError.posix(.noSuchFile) }
        guard found.entry.type == FileMode.directory else {
          throw EngineError.posix(.notDirectory)
        }
        try removeEmpty(found.entry.inode, in: transaction)
        try remove(found.entry, from: &directory, parent.rawValue, in: transaction)
        return found.entry.inode
      }.result
      unknownUnlessKept(number)
    }
  }

  /// Takes a name out and stores the directory.
  func remove(
    _ entry: Directories.Entry, from directory: inout InodeRecord, _ number: UInt64,
    in transaction: Transaction
  ) throws(EngineError) {
    try directories.remove(entry.name, root: &directory.top, in: transaction)
    directory.size -= min(directory.size, 1)
    if entry.type == FileMode.directory { directory.links -= min(directory.links, 1) }
    directory.touch(contents: true)
    try Inodes.store(directory, as: number, in: transaction)
  }

  /// One link less; the last one makes an orphan in the same frame (I10).
  func dropLink(_ number: UInt64, in transaction: Transaction) throws(EngineError) {
    var record = try Inodes.record(of: number, in: transaction)
    guard record.links > 0 else { throw .damaged("the link count of inode \(number)") }
    record.links -= 1
    record.touch(contents: false)
    if record.links == 0 {
      record.flags.insert(.orphan)
      try Orphans.add(number, in: transaction)
    }
    try Inodes.store(record, as: number, in: transaction)
  }

  /// Makes an empty directory an orphan; ENOTEMPTY if it is not empty.
  func removeEmpty(_ number: UInt64, in transaction: Transaction) throws(EngineError) {
    var record = try directory(number, in: transaction)
    guard record.size == 0, record.top == 0 else { throw .posix(.notEmpty) }
    guard number != InodeNumber.root.rawValue else { throw .posix(.busy) }
    record.links = 0
    record.flags.insert(.orphan)
    record.touch(contents: false)
    try Orphans.add(number, in: transaction)
    try Inodes.store(record, as: number, in: transaction)
  }
}
