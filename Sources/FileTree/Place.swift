import POSIX
package import Volume

/// Where a path leads in a tree: a folder, and a name in it that is there or not.
package struct Place {
  package let folder: any Folder
  /// Nil for the top of the tree, and for what ends in `..`.
  package let name: [UInt8]?
  /// Nil if there is nothing of that name.
  package let information: FileInformation?
  /// Folders that were made on the way, the last one last.
  package fileprivate(set) var made: [(folder: any Folder, name: [UInt8])] = []

  package var isFolder: Bool { information?.kind == .folder }

  /// Takes the folders away again that were made for it, as far as they are empty.
  package func removeMade() {
    for (folder, name) in made.reversed() { try? folder.remove(name, isFolder: true) }
  }

  /// The folder that has the name, open.
  package func opened() throws(VolumeError) -> any Folder {
    guard let name else { return folder }
    return try folder.folder(name)
  }
}

/// What to do with a path.
package struct PathOptions: OptionSet, Sendable {
  package let rawValue: Int
  package init(rawValue: Int) { self.rawValue = rawValue }

  /// A link that the path ends with is followed. Those on the way always are.
  package static let followsLast = PathOptions(rawValue: 1)
  /// Folders on the way that are missing are made.
  package static let makesFolders = PathOptions(rawValue: 2)
}

/// Follows a path as the kernel would if the top of the tree were the root of everything: neither
/// `..` nor a link, whatever its target, leads out of it.
///
/// Each component is opened in the folder before it, and links are followed here, so that nobody
/// who changes the tree meanwhile can lead the walk elsewhere.
package struct PathWalk {
  /// Links that are followed on one way, as in the kernel.
  package static let mostLinks = 40

  private var folders: [any Folder]
  /// The last one comes next.
  private var components: [[UInt8]]
  private var links = 0
  private let options: PathOptions
  private var made: [(folder: any Folder, name: [UInt8])] = []

  private init(_ path: [UInt8], in top: any Folder, _ options: PathOptions) {
    folders = [top]
    components = Self.components(path).reversed()
    self.options = options
  }

  /// The place of a path; what leads to it has to be there. Folders that were made before an error
  /// are removed.
  package static func place(
    of path: [UInt8], in top: any Folder, _ options: PathOptions = []
  ) throws(VolumeError) -> Place {
    // `x/` and `x/.` are the folder x, or nothing.
    let isFolderMeant = path.last == UInt8(ascii: "/") || path.suffix(2) == [0x2f, 0x2e]
    var walk = PathWalk(path, in: top, isFolderMeant ? options.union(.followsLast) : options)
    do throws(VolumeError) {
      var place = try walk.walk()
      place.made = walk.made
      if isFolderMeant, place.information != nil, !place.isFolder {
        throw .system(.notDirectory)
      }
      return place
    } catch {
      for (folder, name) in walk.made.reversed() { try? folder.remove(name, isFolder: true) }
      throw error
    }
  }

  private static func components(_ path: [UInt8]) -> [[UInt8]] {
    path.split(separator: UInt8(ascii: "/")).map { Array($0) }.filter { $0 != [0x2e] }
  }

  private mutating func walk() throws(VolumeError) -> Place {
    while let name = components.popLast() {
      let folder = folders[folders.count - 1]
      if name == [0x2e, 0x2e] {
        if folders.count > 1 { folders.removeLast() }
        continue
      }
      let isLast = components.isEmpty
      guard let found = try information(of: name, in: folder) else {
        if isLast { return Place(folder: folder, name: name, information: nil) }
        guard options.contains(.makesFolders) else { throw .system(.noSuchFile) }
        try folder.makeFolder(name)
        made.append((folder, name))
        folders.append(try folder.folder(name))
        continue
      }
      if found.kind == .link, !isLast || options.contains(.followsLast) {
        try follow(name, in: folder)
      } else if isLast {
        return Place(folder: folder, name: name, information: found)
      } else {
        folders.append(try folder.folder(name))
      }
    }
    let folder = folders[folders.count - 1]
    return Place(folder: folder, name: nil, information: try folder.information())
  }

  private func information(
    of name: [UInt8], in folder: any Folder
  ) throws(VolumeError) -> FileInformation? {
    do throws(VolumeError) { return try folder.information(of: name) } catch {
      guard error == .system(.noSuchFile) else { throw error }
      return nil
    }
  }

  private mutating func follow(_ name: [UInt8], in folder: any Folder) throws(VolumeError) {
    links += 1
    guard links <= Self.mostLinks else { throw .system(.loop) }
    let target = try folder.linkTarget(of: name)
    if target.first == UInt8(ascii: "/") { folders.removeSubrange(1...) }
    components += Self.components(target).reversed()
  }
}
