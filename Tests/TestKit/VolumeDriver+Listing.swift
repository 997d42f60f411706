import Bytes
package import Volume

extension VolumeDriver {
  /// The whole tree. Throws what the volume throws, on damage for instance.
  package func listing(attributes: Bool = false) throws(VolumeError) -> Listing {
    var listing = Listing()
    var first: [InodeNumber: String] = [:]
    // Depth first in the order of names, as the model goes, so that `first` means the same.
    var waiting: [(InodeNumber, Path)] = [(.root, [])]
    while let (inode, path) = waiting.popLast() {
      let text = Listing.text(path)
      first[inode] = first[inode] ?? text
      var entry = try self.entry(inode, attributes: attributes && !path.isEmpty)
      entry.first = first[inode] ?? ""
      listing.entries[text] = entry
      if entry.kind == .directory {
        let children = try list(inode)
        for child in children.reversed() { waiting.append((child.inode, path + [child.name])) }
      }
    }
    return listing
  }

  /// Entries of a directory, by name.
  package func list(_ directory: InodeNumber) throws(VolumeError) -> [DirectoryEntry] {
    var found: [DirectoryEntry] = []
    try volume.readDirectory(directory, after: 0) {
      found.append($0)
      return true
    }
    return found.sorted { $0.name.lexicographicallyPrecedes($1.name) }
  }

  /// A file's bytes.
  package func contents(of inode: InodeNumber) throws(VolumeError) -> [UInt8] {
    let content = try sparse(inode)
    return content.read(0..<content.size)
  }

  private func entry(
    _ inode: InodeNumber, attributes isFull: Bool
  ) throws(VolumeError) -> Listing.Entry {
    let attributes = try volume.attributes(of: inode)
    var entry = Listing.Entry(kind: .other, links: Int(attributes.links))
    if isFull {
      entry.mode = attributes.mode & FileMode.permissionMask
      let time = attributes.accessed.seconds
      if time < OperationGenerator.latestTime { entry.accessed = time }
    }
    switch attributes.mode & FileMode.typeMask {
    case FileMode.regular:
      entry.kind = .file
      entry.size = Int(attributes.size)
      entry.content = try sparse(inode)
      entry.content.dropZeroPages()
    case FileMode.directory: entry.kind = .directory
    case FileMode.symlink:
      entry.kind = .symlink
      entry.target = try volume.symlinkTarget(of: inode)
    default: break
    }
    for name in try volume.listAttributes(of: inode, for: caller) {
      entry.attributes[name] = try volume.getAttribute(name, of: inode)
    }
    return entry
  }

  private func sparse(_ inode: InodeNumber) throws(VolumeError) -> SparseContent {
    let buffer = Buffer(count: 256 * 1024)
    var content = SparseContent()
    while true {
      var span = buffer.mutableBytes(in: 0..<buffer.count)
      let count = try volume.read(inode, into: &span, at: UInt64(content.size))
      if count == 0 { return content }
      content.write(buffer.load(0..<count), 0..<count, at: content.size)
    }
  }
}
