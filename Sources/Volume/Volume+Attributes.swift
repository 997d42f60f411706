import Bytes
import Engine
import Format
import POSIX

extension Volume {
  package func attributes(of inode: InodeNumber) throws(VolumeError) -> Attributes {
    try answer { () throws(EngineError) in
      try attributes(inode.rawValue)
    }
  }

  /// An inode's record as the newest frame has it; ESTALE if the inode is not in use.
  func record(of number: UInt64) throws(EngineError) -> InodeRecord {
    try engine.read { (pages) throws(EngineError) in try Inodes.record(of: number, in: pages) }
  }

  /// What stat(2) tells: the record, and what no frame says yet.
  ///
  /// A frame moves the one into the other, so both must be of one moment: otherwise a file being
  /// written could show the size before, which the kernel would then take for its own.
  func attributes(_ number: UInt64) throws(EngineError) -> Attributes {
    while true {
      let before = nodes.unframed(number)
      let record = try record(of: number)
      guard nodes.unframed(number) == before else { continue }
      var attributes = Attributes(number, record)
      if let before, record.isRegular {
        if let size = before.size { attributes.size = size }
        if let written = before.written {
          attributes.modified = written
          attributes.changed = max(attributes.changed, written)
        }
        attributes.blocks = max(attributes.blocks, UInt64(before.chunks) * 8)
      }
      return attributes
    }
  }

  /// Changes what setattr asks for, in one frame; a smaller size may take more.
  package func setAttributes(
    of inode: InodeNumber, _ change: AttributeChange, by caller: Caller
  ) throws(VolumeError) -> Attributes {
    try answer { () throws(EngineError) in
      try nodes.with(inode.rawValue) { (node) throws(EngineError) in
        if try keepsTimes(of: node, change) { return }
        if let size = change.size {
          try node.content.withWrite { () throws(EngineError) in
            try resize(node, to: size) { (record) throws(EngineError) in
              guard record.isRegular else {
                throw .posix(record.isDirectory ? .isDirectory : .invalid)
              }
              record.apply(change)
            }
            if size > 0 || change.modified != nil {
              node.state.withLock { $0.written = nil }
            }
          }
        } else {
          try engine.transact { (transaction) throws(EngineError) in
            if change.modified != nil { node.state.withLock { $0.written = nil } }
            try Inodes.change(inode.rawValue, in: transaction) { (record) throws(EngineError) in
              record.apply(change)
              if change.mode != nil {
                try AccessControl.modeChanged(&record, in: transaction)
              }
            }
          }
        }
      }
      return try attributes(inode.rawValue)
    }
  }

  /// A change of times alone, of a file without a name, stays in memory: no frame has to keep what
  /// goes with the file. The kernel tells them after each unlink(2), fuse_flush_times in
  /// fs/fuse/inode.c. False if the change is another one.
  private func keepsTimes(
    of node: Node, _ change: AttributeChange
  ) throws(EngineError) -> Bool {
    var rest = change
    rest.modified = nil
    rest.changed = nil
    guard rest == AttributeChange(), case .to(let modified)? = change.modified,
      try record(of: node.number).isUnnamedFile
    else { return false }
    node.state.withLock { $0.written = modified.stored }
    return true
  }

  /// Space for statfs(2): what the lower filesystem has free, and what the vault takes.
  package func space() throws(VolumeError) -> VolumeSpace {
    try answer { () throws(EngineError) in
      let (slots, inodes) = try engine.read { (pages) throws(EngineError) in
        let system = try pages.read(PageID(.system, 0))
        return (
          try SystemPage.count(SystemPage.usedSlots, in: system),
          try SystemPage.count(SystemPage.usedInodes, in: system)
        )
      }
      let free = try engine.freeBytes() / UInt64(Layout.chunkSize)
      let pending = UInt64(unframed.withLock { $0.chunks })
      let freeInodes = max(1000, free * 2)
      return VolumeSpace(
        totalChunks: slots + pending + free, freeChunks: free, totalInodes: inodes + freeInodes,
        freeInodes: freeInodes)
    }
  }
}

extension Timestamp {
  init(_ time: (seconds: Int64, nanoseconds: UInt32)) {
    self.init(seconds: time.seconds, nanoseconds: time.nanoseconds)
  }

  /// Within what the format promises: 1901 to 2446, as ext4.
  fileprivate var stored: (seconds: Int64, nanoseconds: UInt32) {
    (Swift.min(Swift.max(seconds, -2_147_483_648), 15_032_385_535), nanoseconds)
  }
}

extension Attributes {
  init(_ number: UInt64, _ record: InodeRecord) {
    self.init(
      inode: InodeNumber(rawValue: number), generation: record.generation, mode: record.mode,
      links: record.links, user: record.user, group: record.group, device: record.device,
      size: record.size, blocks: record.chunks * 8, accessed: Timestamp(record.accessed),
      modified: Timestamp(record.modified), changed: Timestamp(record.changed),
      born: Timestamp(record.born))
  }
}

extension InodeRecord {
  fileprivate var isUnnamedFile: Bool { isRegular && links == 0 && flags.contains(.orphan) }

  fileprivate mutating func apply(_ change: AttributeChange) {
    let now = Clock.realtime
    func time(_ wanted: TimeChange) -> (seconds: Int64, nanoseconds: UInt32) {
      switch wanted {
      case .now: now
      case .to(let time): time.stored
      }
    }
    if let user = change.user { self.user = user }
    if let group = change.group { self.group = group }
    if let bits = change.mode {
      mode = mode & FileMode.typeMask | bits & FileMode.permissionMask
    } else if change.clearsSetID || change.user != nil || change.group != nil {
      clearSetID()
    }
    if let accessed = change.accessed { self.accessed = time(accessed) }
    if let modified = change.modified { self.modified = time(modified) }
    if let changed = change.changed { self.changed = time(changed) } else { changed = now }
  }
}
