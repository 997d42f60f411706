import FileTree
import POSIX
import Session
import Volume

/// `coffre cat`.
enum CatCommand {
  static func run(_ arguments: Arguments) throws(Failure) {
    try GetCommand.print(arguments)
  }
}

/// `coffre get`: what comes out of a vault comes out here.
enum GetCommand {
  static func run(_ arguments: Arguments) throws(Failure) {
    let path = arguments.paths[1]
    let isWhole = arguments.has("r")
    let isForced = arguments.has("force")
    if arguments.paths.count > 2, arguments.paths[2] == [UInt8(ascii: "-")] {
      guard !isWhole else { throw Failure(.usage, "a tree does not fit into standard output") }
      return try print(arguments)
    }
    let target = try Destination(arguments, name: path.lastName)
    if !isForced, !target.isFree { throw Copying.exists(target.shown) }
    try OpenTree.with(arguments, changes: false) { (tree) throws(Failure) in
      let exported = Exported()
      defer { tree.note(exported) }
      try copy(path, tree, to: target, isWhole: isWhole, isForced: isForced, exported)
    }
  }

  private static func copy(
    _ path: [UInt8], _ tree: OpenTree, to target: Destination, isWhole: Bool, isForced: Bool,
    _ exported: Exported
  ) throws(Failure) {
    let copying = Copying(.outOfVault, outside: target.path)
    var options = copying.options(for: tree, replaces: isForced)
    exported.watch(&options)
    switch try Self.source(path, tree.top) {
    case .file(let file):
      try copying.run(file.size) { () throws(CopyError) in
        guard let name = target.name else { throw .target(.system(.isDirectory)) }
        if try !FileCopy(options).copy(file.file, to: target.folder, as: name) {
          options.report([], .attributes)
        }
      }
    case .folder(let folder):
      guard isWhole else { throw Self.needsRecursion }
      try copying.run(Copying.size(of: folder)) { () throws(CopyError) in
        var copy = TreeCopy(options)
        if let name = target.name {
          try copy.copy(folder, to: target.folder, as: name)
        } else {
          try copy.copyContents(of: folder, to: target.folder)
        }
      }
    }
  }

  static let needsRecursion = Failure(
    .systemError, "that is a folder", hint: "with -r it is copied with all that is in it")

  /// To standard output, without a bar on a terminal that shows the content.
  static func print(_ arguments: Arguments) throws(Failure) {
    let path = arguments.paths[1]
    var broken: Errno?
    do throws(Failure) {
      try OpenTree.with(arguments, changes: false, cleansUp: false) { (tree) throws(Failure) in
        guard case .file(let source) = try Self.source(path, tree.top) else {
          throw Failure(.systemError, "that is a folder")
        }
        let output: Descriptor
        do throws(Errno) { output = try System.duplicate(1) } catch {
          throw Failure(error, doing: "standard output")
        }
        let exported = Exported()
        defer { tree.note(exported) }
        var options = CopyOptions()
        exported.watch(&options)
        do throws(CopyError) { try FileCopy(options).send(source.file, to: output) } catch {
          guard case .target(let problem) = error else {
            throw Copying(.outOfVault, outside: []).failure(error)
          }
          broken = problem.errno
          throw Failure(problem.errno, doing: "standard output")
        }
      }
    } catch {
      // What went out is written down by now; this may end the process.
      if let broken { Output.fail(broken) }
      throw error
    }
  }

  enum Source {
    case file((file: any File, size: UInt64))
    case folder(any Folder)
  }

  /// What is at a path of the vault, open; a link is followed, inside of the vault.
  static func source(_ path: [UInt8], _ top: any Folder) throws(Failure) -> Source {
    do throws(VolumeError) {
      let place = try PathWalk.place(of: path, in: top, .followsLast)
      guard let found = place.information else { throw .system(.noSuchFile) }
      if found.kind == .folder { return .folder(try place.opened()) }
      guard let name = place.name, found.kind == .file else {
        throw .system(.invalid)
      }
      return .file((try place.folder.file(name), found.size))
    } catch {
      guard error == .system(.invalid) else { throw Failure(inVault: error) }
      throw Failure(.systemError, "that is a pipe, a socket or a device: it has no content")
    }
  }
}

/// Where a copy goes outside of the vault.
struct Destination {
  let folder: SystemFolder
  /// Nil if the folder itself is meant.
  let name: [UInt8]?
  let path: [UInt8]

  var shown: String { VerifyReport.Item.shown(path) }

  /// `name` is what it is called in a folder that is there, and if nothing is given.
  init(_ arguments: Arguments, name: [UInt8]?) throws(Failure) {
    let isGiven = arguments.paths.count > 2
    guard let path = isGiven ? arguments.paths[2] : name, !path.isEmpty else {
      throw Failure(.usage, "a DEST is needed: what is to be copied has no name of its own")
    }
    do throws(VolumeError) {
      if isGiven, let folder = try? SystemFolder(path: path) {
        self.folder = folder
        self.name = name
        self.path = name.map { path.withoutLastSlashes + [UInt8(ascii: "/")] + $0 } ?? path
      } else {
        guard let last = path.lastName, path.last != UInt8(ascii: "/") else {
          throw .system(.noSuchFile)
        }
        let above = Array(path.dropLast(last.count))
        folder = try SystemFolder(path: above.isEmpty ? [UInt8(ascii: ".")] : above)
        self.name = last
        self.path = path
      }
    } catch { throw Failure(error.errno, doing: VerifyReport.Item.shown(path)) }
  }

  /// Whether nothing has the name, not even a link that leads nowhere.
  var isFree: Bool {
    guard let name else { return false }
    do throws(VolumeError) {
      _ = try folder.information(of: name)
      return false
    } catch { return error == .system(.noSuchFile) }
  }
}
