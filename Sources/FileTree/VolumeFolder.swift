import POSIX
package import Volume

/// A directory of a volume that this process has opened itself, for nobody but itself.
package final class VolumeFolder: Folder, VolumeEntry {
  package let volume: Volume
  package let inode: InodeNumber

  package init(_ volume: Volume, _ inode: InodeNumber = .root) {
    self.volume = volume
    self.inode = inode
  }

  private func lookup(_ name: [UInt8]) throws(VolumeError) -> Attributes {
    try volume.lookup(FileName(name), in: inode)
  }

  package func information(of name: [UInt8]) throws(VolumeError) -> FileInformation {
    FileInformation(try lookup(name))
  }

  package func names() throws(VolumeError) -> [[UInt8]] {
    var names: [[UInt8]] = []
    try volume.readDirectory(inode, after: 0) { entry in
      names.append(entry.name)
      return true
    }
    return names
  }

  package func folder(_ name: [UInt8]) throws(VolumeError) -> any Folder {
    let found = try lookup(name)
    guard FileInformation(found).kind == .folder else { throw .system(.notDirectory) }
    return VolumeFolder(volume, found.inode)
  }

  package func file(_ name: [UInt8]) throws(VolumeError) -> any File {
    let found = try lookup(name)
    switch FileInformation(found).kind {
    case .file: return try VolumeFile(volume, found.inode)
    case .folder: throw .system(.isDirectory)
    case .link: throw .system(.loop)
    case .fifo, .socket, .device: throw .system(.invalid)
    }
  }

  package func makeFile(_ name: [UInt8]) throws(VolumeError) -> any File {
    let made = try volume.makeNode(
      FileName(name), in: inode, mode: FileMode.regular | 0o600, device: 0, by: .this)
    return try VolumeFile(volume, made.inode)
  }

  package func makeFolder(_ name: [UInt8]) throws(VolumeError) {
    _ = try volume.makeDirectory(FileName(name), in: inode, mode: 0o700, by: .this)
  }

  package func makeLink(_ name: [UInt8], to target: [UInt8]) throws(VolumeError) {
    _ = try volume.makeSymlink(FileName(name), in: inode, target: target, by: .this)
  }

  package func linkTarget(of name: [UInt8]) throws(VolumeError) -> [UInt8] {
    try volume.symlinkTarget(of: try lookup(name).inode)
  }

  package func take(_ kept: KeptAttributes, forLink name: [UInt8]) throws(VolumeError) {
    var change = AttributeChange(kept)
    change.mode = nil
    _ = try volume.setAttributes(of: try lookup(name).inode, change, by: .this)
  }

  package func remove(_ name: [UInt8], isFolder: Bool) throws(VolumeError) {
    let name = try FileName(name)
    if isFolder {
      try volume.removeDirectory(name, in: inode)
    } else {
      try volume.unlink(name, in: inode)
    }
  }

  package func rename(
    _ name: [UInt8], to newName: [UInt8], in folder: any Folder, replacing: Bool
  ) throws(VolumeError) {
    guard let folder = folder as? VolumeFolder, folder.volume === volume else {
      throw .system(.crossDevice)
    }
    try volume.rename(
      FileName(name), in: inode, to: FileName(newName), in: folder.inode,
      replacing ? .replace : .noReplace)
  }

  package func sync() throws(VolumeError) { try volume.syncDirectory(inode) }
}

/// A regular file of such a volume.
package final class VolumeFile: File, VolumeEntry {
  package let volume: Volume
  package let inode: InodeNumber

  init(_ volume: Volume, _ inode: InodeNumber) throws(VolumeError) {
    try volume.open(inode, truncate: false)
    self.volume = volume
    self.inode = inode
  }

  deinit { volume.release(inode) }

  package func read(
    into span: inout MutableRawSpan, at offset: UInt64
  ) throws(VolumeError) -> Int {
    try volume.read(inode, into: &span, at: offset)
  }

  package func write(_ span: RawSpan, at offset: UInt64) throws(VolumeError) {
    try volume.write(inode, span, at: offset, clearsSetID: false)
  }

  package func data(from offset: UInt64) throws(VolumeError) -> Range<UInt64>? {
    do throws(VolumeError) {
      let start = try volume.seekData(inode, from: offset)
      return start..<(try volume.seekHole(inode, from: start))
    } catch {
      guard error == .system(.noAddress) else { throw error }
      return nil
    }
  }

  package func resize(to size: UInt64) throws(VolumeError) {
    var change = AttributeChange()
    change.size = size
    _ = try volume.setAttributes(of: inode, change, by: .this)
  }

  package func sync() throws(VolumeError) { try volume.sync(inode, dataOnly: false) }
}

/// What folders and files of a volume have in common.
package protocol VolumeEntry: OpenEntry {
  var volume: Volume { get }
  var inode: InodeNumber { get }
}

extension VolumeEntry {
  package func information() throws(VolumeError) -> FileInformation {
    FileInformation(try volume.attributes(of: inode))
  }

  package var identity: String? { nil }

  package func take(_ kept: KeptAttributes) throws(VolumeError) -> Bool {
    // The mode of an access list follows the list, so it comes after that.
    for attribute in kept.extended {
      try volume.setAttribute(attribute.name, to: attribute.value, of: inode, .either, by: .this)
    }
    _ = try volume.setAttributes(of: inode, AttributeChange(kept), by: .this)
    return true
  }

  package func extendedAttributes() throws(VolumeError) -> [ExtendedAttribute] {
    var found: [ExtendedAttribute] = []
    for name in try volume.listAttributes(of: inode, for: .this)
    where ExtendedAttribute.isKept(name) {
      found.append(
        ExtendedAttribute(name: name, value: try volume.getAttribute(name, of: inode)))
    }
    return found
  }
}

extension Caller {
  /// This process. New files have the modes they are made with.
  fileprivate static var this: Caller {
    Caller(user: System.userNumber, group: System.groupNumber, mask: 0)
  }
}

extension AttributeChange {
  fileprivate init(_ kept: KeptAttributes) {
    self.init()
    mode = kept.permissions
    user = kept.owner?.user
    group = kept.owner?.group
    modified = kept.modified.map { .to($0) }
  }
}
