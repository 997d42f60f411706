import Bytes
import Crypto
import Engine
import Format
import POSIX

extension Volume {
  package func lookup(
    _ name: FileName, in parent: InodeNumber
  ) throws(VolumeError) -> Attributes {
    try answer { () throws(EngineError) in
      let number = try engine.read { (pages) throws(EngineError) in
        let directory = try directory(parent.rawValue, in: pages)
        guard
          let found = try directories.find(name.bytes, root: directory.top, in: pages)
        else { throw EngineError.posix(.noSuchFile) }
        return found.entry.inode
      }
      return try attributes(number)
    }
  }

  package func retain(_ inode: InodeNumber) { nodes.retain(inode.rawValue) }

  package func forget(_ inode: InodeNumber, count: UInt64) {
    if nodes.forget(inode.rawValue, count: count) { unknown(inode.rawValue) }
  }

  package func parent(of directory: InodeNumber) throws(VolumeError) -> InodeNumber {
    try answer { () throws(EngineError) in
      let record = try engine.read { (pages) throws(EngineError) in
        try self.directory(directory.rawValue, in: pages)
      }
      return InodeNumber(rawValue: record.parent)
    }
  }

  /// mknod(2), and open(2) with O_CREAT and O_EXCL: EEXIST if the name is there.
  package func makeNode(
    _ name: FileName, in parent: InodeNumber, mode: UInt32, device: UInt64, by caller: Caller
  ) throws(VolumeError) -> Attributes {
    try make(name, in: parent, mode: mode, by: caller) { (record, _) in record.device = device }
  }

  package func makeDirectory(
    _ name: FileName, in parent: InodeNumber, mode: UInt32, by caller: Caller
  ) throws(VolumeError) -> Attributes {
    let mode = mode & FileMode.permissionMask | FileMode.directory
    return try make(name, in: parent, mode: mode, by: caller) { (record, _) in
      record.links = 2
      record.parent = parent.rawValue
    }
  }

  package func makeSymlink(
    _ name: FileName, in parent: InodeNumber, target: [UInt8], by caller: Caller
  ) throws(VolumeError) -> Attributes {
    guard !target.isEmpty, target.count <= Layout.maximumTarget else {
      throw .system(target.isEmpty ? .noSuchFile : .nameTooLong)
    }
    return try make(name, in: parent, mode: FileMode.symlink | 0o777, by: caller) {
      (record, transaction) throws(EngineError) in
      record.size = UInt64(target.count)
      if target.count <= record.tail.count {
        record.tail.replaceSubrange(0..<target.count, with: target)
      } else {
        let (number, page) = try transaction.allocatePage()
        page.store(target, at: 0)
        record.top = number
      }
    }
  }

  package func symlinkTarget(of inode: InodeNumber) throws(VolumeError) -> [UInt8] {
    try answer { () throws(EngineError) in
      try engine.read { (pages) throws(EngineError) in
        let record = try Inodes.record(of: inode.rawValue, in: pages)
        guard record.isSymlink, record.size <= UInt64(Layout.maximumTarget) else {
          throw .posix(.invalid)
        }
        let size = Int(record.size)
        if record.top == 0 { return Array(record.tail[0..<min(size, 96)]) }
        return try pages.read(PageID(.pages, record.top)).load(0..<size)
      }
    }
  }

  package func link(
    _ inode: InodeNumber, as name: FileName, in parent: InodeNumber
  ) throws(VolumeError) -> Attributes {
    try answer { () throws(EngineError) in
      try engine.transact { (transaction) throws(EngineError) in
        var directory = try directory(parent.rawValue, in: transaction)
        guard try directories.find(name.bytes, root: directory.top, in: transaction) == nil
        else { throw EngineError.posix(.exists) }
        var record = try Inodes.record(of: inode.rawValue, in: transaction)
        guard !record.isDirectory else { throw EngineError.posix(.notPermitted) }
        guard record.links < 65000 else { throw EngineError.posix(.tooManyLinks) }
        // The last name is gone, and what it held may be too by now.
        guard !record.flags.contains(.orphan) else { throw EngineError.posix(.noSuchFile) }
        record.links += 1
        record.touch(contents: false)
        try Inodes.store(record, as: inode.rawValue, in: transaction)
        try add(
          Directories.Entry(inode: inode.rawValue, type: record.type, name: name.bytes),
          to: &directory, parent.rawValue, in: transaction)
      }
      return try attributes(inode.rawValue)
    }
  }

  // MARK: - Parts

  /// The record of a directory; ENOTDIR for anything else.
  func directory(
    _ number: UInt64, in pages: some PageReader
  ) throws(EngineError) -> InodeRecord {
    let record = try Inodes.record(of: number, in: pages)
    guard record.isDirectory else { throw .posix(.notDirectory) }
    return record
  }

  /// Adds a name and stores the directory.
  func add(
    _ entry: Directories.Entry, to directory: inout InodeRecord, _ number: UInt64,
    in transaction: Transaction
  ) throws(EngineError) {
    guard directory.links > 0, !directory.flags.contains(.orphan) else {
      throw .posix(.noSuchFile)
    }
    try directories.insert(entry, root: &directory.top, in: transaction)
    directory.size += 1
    if entry.type == FileMode.directory { directory.links += 1 }
    directory.touch(contents: true)
    try Inodes.store(directory, as: number, in: transaction)
  }

  private func make(
    _ name: FileName, in parent: InodeNumber, mode: UInt32, by caller: Caller,
    _ prepare: (inout InodeRecord, Transaction) throws(EngineError) -> Void
  ) throws(VolumeError) -> Attributes {
    try answer { () throws(EngineError) in
      let made = try engine.transact { (transaction) throws(EngineError) in
        var directory = try directory(parent.rawValue, in: transaction)
        guard try directories.find(name.bytes, root: directory.top, in: transaction) == nil
        else { throw EngineError.posix(.exists) }
        var record = try newRecord(mode, in: directory, by: caller, transaction)
        try prepare(&record, transaction)
        let number = try Inodes.make(record, in: transaction)
        try add(
          Directories.Entry(inode: number, type: record.type, name: name.bytes), to: &directory,
          parent.rawValue, in: transaction)
        return (number, try Inodes.record(of: number, in: transaction))
      }.result
      return Attributes(made.0, made.1)
    }
  }

  /// A record with owner, mode and ACL as the directory and the caller's mask have it.
  private func newRecord(
    _ mode: UInt32, in directory: InodeRecord, by caller: Caller, _ transaction: Transaction
  ) throws(EngineError) -> InodeRecord {
    var record = InodeRecord()
    record.mode = mode
    record.links = 1
    record.user = caller.user
    record.group = caller.group
    if directory.mode & FileMode.setGroup != 0 {
      record.group = directory.group
      if mode & FileMode.typeMask == FileMode.directory { record.mode |= FileMode.setGroup }
    }
    record.begin()
    record.stops = stops
    try AccessControl.inherit(&record, from: directory, mask: caller.mask, in: transaction)
    return record
  }
}

extension InodeRecord {
  /// A new inode has a seed of its own, and all its times are now.
  mutating func begin() {
    seed = Random.bytes(32)
    born = Clock.realtime
    accessed = born
    modified = born
    changed = born
  }
}
