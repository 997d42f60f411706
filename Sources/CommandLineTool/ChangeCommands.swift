import FileTree
import POSIX
import Session
import Volume

/// `coffre mkdir`.
enum MakeFolderCommand {
  static func run(_ arguments: Arguments) throws(Failure) {
    let path = arguments.paths[1]
    let makesAll = arguments.has("p")
    try OpenTree.change(arguments) { (tree) throws(VolumeError) in
      let place = try PathWalk.place(
        of: path, in: tree.top, makesAll ? [.followsLast, .makesFolders] : [])
      guard let name = place.name, place.information == nil else {
        guard makesAll, place.isFolder else { throw .system(.exists) }
        return
      }
      try place.folder.makeFolder(name)
      try place.folder.sync()
    }
  }
}

/// `coffre mv`: as rename(2), and into a folder that is there.
enum MoveCommand {
  static func run(_ arguments: Arguments) throws(Failure) {
    let (from, to) = (arguments.paths[1].withoutLastSlashes, arguments.paths[2])
    try OpenTree.change(arguments) { (tree) throws(VolumeError) in
      let source = try PathWalk.place(of: from, in: tree.top)
      guard source.information != nil else { throw .system(.noSuchFile) }
      guard let name = source.name else { throw .system(.busy) }
      var target = try PathWalk.place(of: to, in: tree.top, .followsLast)
      if target.isFolder {
        target = try PathWalk.place(of: to + [UInt8(ascii: "/")] + name, in: tree.top)
      } else if to.last == UInt8(ascii: "/"), !source.isFolder {
        throw .system(.notDirectory)
      }
      guard let newName = target.name else { throw .system(.busy) }
      try source.folder.rename(name, to: newName, in: target.folder, replacing: true)
      try target.folder.sync()
      try source.folder.sync()
    }
  }
}

/// `coffre rm`.
enum RemoveCommand {
  static func run(_ arguments: Arguments) throws(Failure) {
    // A link with a slash behind it would be what it leads to.
    let path = arguments.paths[1].withoutLastSlashes
    let isWhole = arguments.has("r")
    try OpenTree.with(arguments, changes: true) { (tree) throws(Failure) in
      do throws(VolumeError) { try remove(path, in: tree.top, isWhole: isWhole) } catch {
        guard error == .system(.isDirectory) else { throw Failure(changing: error) }
        throw Failure(
          .systemError, "that is a folder", hint: "with -r it goes with all that is in it")
      }
    }
  }
}

extension RemoveCommand {
  private static func remove(
    _ path: [UInt8], in top: any Folder, isWhole: Bool
  ) throws(VolumeError) {
    let place = try PathWalk.place(of: path, in: top)
    guard place.information != nil else { throw .system(.noSuchFile) }
    guard let name = place.name else { throw .system(.busy) }
    if place.isFolder, !isWhole { throw .system(.isDirectory) }
    var removal = Removal { () throws(VolumeError) in
      if Interruption.isWanted { throw .system(.interrupted) }
    }
    try removal.remove(name, in: place.folder, isFolder: place.isFolder)
    try place.folder.sync()
  }
}

extension OpenTree {
  /// One change in the vault.
  fileprivate static func change(
    _ arguments: Arguments, _ body: (OpenTree) throws(VolumeError) -> Void
  ) throws(Failure) {
    try with(arguments, changes: true) { (tree) throws(Failure) in
      do throws(VolumeError) { try body(tree) } catch { throw Failure(changing: error) }
    }
  }
}

extension Failure {
  fileprivate init(changing error: VolumeError) {
    switch error {
    case .system(.isDirectory): self.init(.exists, "a folder has that name")
    case .system(.busy): self.init(.systemError, "the top of the vault stays where it is")
    case .system(.notEmpty): self.init(.exists, "a folder of that name has something in it")
    case .system(.invalid):
      self.init(.systemError, "a folder can't be moved into itself")
    default: self.init(inVault: error)
    }
  }
}

extension [UInt8] {
  /// A path without slashes at its end.
  var withoutLastSlashes: [UInt8] {
    var rest = self[...]
    while rest.count > 1, rest.last == UInt8(ascii: "/") { rest.removeLast() }
    return Array(rest)
  }

  /// The last component of a path, if it is a name.
  var lastName: [UInt8]? {
    let name = split(separator: UInt8(ascii: "/")).last.map { Array($0) }
    return name == [0x2e] || name == [0x2e, 0x2e] ? nil : name
  }
}
