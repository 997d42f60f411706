package import POSIX
package import Volume

/// A directory of the system. Everything is done relative to it, so that it makes no difference
/// what becomes of its path.
package final class SystemFolder: Folder, SystemEntry {
  package let handle: SystemHandle
  /// The device nothing outside of which is opened; nil for anywhere.
  private let device: UInt64?

  /// `staysOnDevice` is for a mount: what somebody has mounted inside of it is not in the vault.
  package convenience init(
    _ descriptor: consuming Descriptor, staysOnDevice: Bool = false
  ) throws(VolumeError) {
    let device: UInt64?
    do throws(Errno) {
      device = staysOnDevice ? try System.status(of: descriptor).device : nil
    } catch { throw .system(error) }
    self.init(descriptor, device: device)
  }

  /// The folder at a path, as everybody finds it.
  package convenience init(path: [UInt8]) throws(VolumeError) {
    let descriptor: Descriptor
    do throws(Errno) {
      descriptor = try System.open(path: path, [.directory, .nonBlocking])
    } catch { throw .system(error) }
    self.init(descriptor, device: nil)
  }

  private init(_ descriptor: consuming Descriptor, device: UInt64?) {
    handle = SystemHandle(descriptor)
    self.device = device
  }

  package func information(of name: [UInt8]) throws(VolumeError) -> FileInformation {
    try answer { () throws(Errno) in
      let status = try System.status(of: name, in: handle.descriptor)
      if isTag(status) { throw .noSuchFile }
      return FileInformation(status)
    }
  }

  package func names() throws(VolumeError) -> [[UInt8]] {
    try answer { () throws(Errno) in
      try System.nameBytes(in: handle.descriptor).filter { name in
        guard name == Self.listedTag,
          let status = try? System.status(of: name, in: handle.descriptor)
        else { return true }
        return !isTag(status)
      }
    }
  }

  /// The tag that a mount has in listings, for backup programs.
  private static let listedTag = Array("CACHEDIR.TAG".utf8)

  /// Whether it is in the mount alone, and not in the vault.
  private func isTag(_ status: FileStatus) -> Bool {
    device != nil && InodeNumber(rawValue: status.inode).isTag
  }

  package func folder(_ name: [UInt8]) throws(VolumeError) -> any Folder {
    SystemFolder(try open(name, [.directory, .nonBlocking]), device: device)
  }

  package func file(_ name: [UInt8]) throws(VolumeError) -> any File {
    _ = try information(of: name)
    return try SystemFile(try open(name, [.nonBlocking]))
  }

  package func makeFile(_ name: [UInt8]) throws(VolumeError) -> any File {
    try SystemFile(try open(name, [.readWrite, .create, .exclusive]))
  }

  private func open(_ name: [UInt8], _ flags: OpenFlags) throws(VolumeError) -> Descriptor {
    try Self.open(name, in: handle.descriptor, flags, device)
  }

  private static func open(
    _ name: [UInt8], in directory: borrowing Descriptor, _ flags: OpenFlags, _ device: UInt64?
  ) throws(VolumeError) -> Descriptor {
    do throws(Errno) {
      let opened = try System.open(name, in: directory, flags)
      if let device, try System.status(of: opened).device != device { throw .crossDevice }
      return opened
    } catch { throw .system(error) }
  }

  package func makeFolder(_ name: [UInt8]) throws(VolumeError) {
    try answer { () throws(Errno) in
      try System.makeDirectory(name, in: handle.descriptor, mode: 0o700)
    }
  }

  package func makeLink(_ name: [UInt8], to target: [UInt8]) throws(VolumeError) {
    try answer { () throws(Errno) in try System.makeLink(name, to: target, in: handle.descriptor) }
  }

  package func linkTarget(of name: [UInt8]) throws(VolumeError) -> [UInt8] {
    try answer { () throws(Errno) in try System.linkTarget(of: name, in: handle.descriptor) }
  }

  package func take(_ kept: KeptAttributes, forLink name: [UInt8]) throws(VolumeError) {
    try answer { () throws(Errno) in
      if let owner = kept.owner {
        try System.changeOwner(
          ofLink: name, in: handle.descriptor, user: owner.user, group: owner.group)
      }
      guard let time = kept.modified else { return }
      try System.setModified(
        ofLink: name, in: handle.descriptor, seconds: time.seconds, nanoseconds: time.nanoseconds)
    }
  }

  package func remove(_ name: [UInt8], isFolder: Bool) throws(VolumeError) {
    try answer { () throws(Errno) in
      try System.remove(name, in: handle.descriptor, isDirectory: isFolder)
    }
  }

  package func rename(
    _ name: [UInt8], to newName: [UInt8], in folder: any Folder, replacing: Bool
  ) throws(VolumeError) {
    guard let folder = folder as? SystemFolder else { throw .system(.crossDevice) }
    try answer { () throws(Errno) in
      try System.rename(
        name, in: handle.descriptor, to: newName, in: folder.handle.descriptor, replacing: replacing
      )
    }
  }
}
