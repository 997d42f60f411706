import Engine
import Format
import POSIX

extension Volume {
  /// renameat2(2). The target's contents are replaced only after the source's are durable (I3).
  package func rename(
    _ name: FileName, in parent: InodeNumber, to newName: FileName, in newParent: InodeNumber,
    _ mode: RenameMode
  ) throws(VolumeError) {
    try answer { () throws(EngineError) in
      try frameSource(name, parent, newName, newParent, mode)
      let removed = try engine.transact { (transaction) throws(EngineError) in
        var move = try Move(self, name, parent, newName, newParent, in: transaction)
        switch mode {
        case .exchange: return try move.exchange(in: transaction)
        case .noReplace:
          guard move.target == nil else { throw EngineError.posix(.exists) }
          return try move.replace(in: transaction)
        case .replace: return try move.replace(in: transaction)
        }
      }.result
      if let removed { unknownUnlessKept(removed) }
    }
  }

  /// Before a rename over an existing file, what was written to the source is framed.
  private func frameSource(
    _ name: FileName, _ parent: InodeNumber, _ newName: FileName, _ newParent: InodeNumber,
    _ mode: RenameMode
  ) throws(EngineError) {
    guard mode != .noReplace else { return }
    let source: UInt64? = try engine.read { (pages) throws(EngineError) in
      let from = try directory(parent.rawValue, in: pages)
      let to = try directory(newParent.rawValue, in: pages)
      guard let found = try directories.find(name.bytes, root: from.top, in: pages),
        try directories.find(newName.bytes, root: to.top, in: pages) != nil
      else { return nil }
      return found.entry.inode
    }
    guard let source, nodes.existing(source) != nil else { return }
    try nodes.with(source) { (node) throws(EngineError) in
      try node.content.withWrite { () throws(EngineError) in
        try frame(node, images: true)
      }
    }
  }
}

/// A rename on its way: both directories and what the names stand for.
private struct Move {
  let volume: Volume
  let name: FileName
  let newName: FileName
  let from: UInt64
  let to: UInt64
  let source: Directories.Entry
  let target: Directories.Entry?

  init(
    _ volume: Volume, _ name: FileName, _ parent: InodeNumber, _ newName: FileName,
    _ newParent: InodeNumber, in transaction: Transaction
  ) throws(EngineError) {
    self.volume = volume
    self.name = name
    self.newName = newName
    from = parent.rawValue
    to = newParent.rawValue
    let directory = try volume.directory(from, in: transaction)
    let newDirectory = try volume.directory(to, in: transaction)
    guard
      let found = try volume.directories.find(name.bytes, root: directory.top, in: transaction)
    else { throw .posix(.noSuchFile) }
    source = found.entry
    target = try volume.directories.find(
      newName.bytes, root: newDirectory.top, in: transaction)?.entry
  }

  /// EINVAL if `directory` is `inode` or below it.
  private func checkNotBelow(
    _ inode: UInt64, _ directory: UInt64, in transaction: Transaction
  ) throws(EngineError) {
    var current = directory
    var steps = 0
    while true {
      if current == inode { throw .posix(.invalid) }
      if current == InodeNumber.root.rawValue { return }
      current = try volume.directory(current, in: transaction).parent
      steps += 1
      guard steps < 1 << 20 else { throw .damaged("a cycle of directories") }
    }
  }

  /// Returns the inode that lost its name, if any.
  mutating func replace(in transaction: Transaction) throws(EngineError) -> UInt64? {
    let isDirectory = source.type == FileMode.directory
    if isDirectory && from != to {
      try checkNotBelow(source.inode, to, in: transaction)
    } else if isDirectory {
      guard source.inode != to else { throw .posix(.invalid) }
    }
    if let target {
      if target.inode == source.inode { return nil }  // two links of one file: nothing to do
      if target.type == FileMode.directory {
        guard isDirectory else { throw .posix(.isDirectory) }
        try volume.removeEmpty(target.inode, in: transaction)
      } else {
        guard !isDirectory else { throw .posix(.notDirectory) }
        try volume.dropLink(target.inode, in: transaction)
      }
      var directory = try volume.directory(to, in: transaction)
      try volume.remove(target, from: &directory, to, in: transaction)
    }
    var directory = try volume.directory(from, in: transaction)
    try volume.remove(source, from: &directory, from, in: transaction)
    var newDirectory = try volume.directory(to, in: transaction)
    try volume.add(
      Directories.Entry(inode: source.inode, type: source.type, name: newName.bytes),
      to: &newDirectory, to, in: transaction)
    try moved(source, into: to, in: transaction)
    return target?.inode
  }

  mutating func exchange(in transaction: Transaction) throws(EngineError) -> UInt64? {
    guard let target else { throw .posix(.noSuchFile) }
    if target.inode == source.inode { return nil }
    if source.type == FileMode.directory { try checkNotBelow(source.inode, to, in: transaction) }
    if target.type == FileMode.directory {
      try checkNotBelow(target.inode, from, in: transaction)
    }
    var directory = try volume.directory(from, in: transaction)
    try volume.remove(source, from: &directory, from, in: transaction)
    var newDirectory = try volume.directory(to, in: transaction)
    try volume.remove(target, from: &newDirectory, to, in: transaction)
    directory = try volume.directory(from, in: transaction)
    try volume.add(
      Directories.Entry(inode: target.inode, type: target.type, name: name.bytes),
      to: &directory, from, in: transaction)
    newDirectory = try volume.directory(to, in: transaction)
    try volume.add(
      Directories.Entry(inode: source.inode, type: source.type, name: newName.bytes),
      to: &newDirectory, to, in: transaction)
    try moved(source, into: to, in: transaction)
    try moved(target, into: from, in: transaction)
    return nil
  }

  private func moved(
    _ entry: Directories.Entry, into directory: UInt64, in transaction: Transaction
  ) throws(EngineError) {
    try Inodes.change(entry.inode, in: transaction) { record in
      if record.isDirectory { record.parent = directory }
      record.touch(contents: false)
    }
  }
}
