import FileTree
import POSIX
import Session
import Volume

/// `coffre put`.
enum PutCommand {
  static func run(_ arguments: Arguments) throws(Failure) {
    let sourcePath = arguments.paths[1]
    if sourcePath == [UInt8(ascii: "-")], arguments.value("password-fd") == "0" {
      throw Failure(.usage, "standard input can't be both the password and the content")
    }
    let source = try Source(sourcePath)
    if source.isFolder, !arguments.has("r") { throw GetCommand.needsRecursion }
    try OpenTree.with(arguments, changes: true) { (tree) throws(Failure) in
      let copying = Copying(.intoVault, outside: sourcePath)
      let place = try place(arguments.paths[2], in: tree.top, name: source.name)
      do throws(Failure) { try copy(source, to: place, copying, tree) } catch {
        place.removeMade()
        throw error
      }
    }
  }

  /// Where it goes: a folder that is there gets it inside, under its own name.
  private static func place(
    _ path: [UInt8], in top: any Folder, name: [UInt8]?
  ) throws(Failure) -> Place {
    let options: PathOptions = [.followsLast, .makesFolders]
    do throws(VolumeError) {
      let inside = name.map { path + [UInt8(ascii: "/")] + $0 }
      // What ends with a slash is a folder, also where it is still to be made.
      if path.last == UInt8(ascii: "/"), let inside {
        return try PathWalk.place(of: inside, in: top, options)
      }
      let place = try PathWalk.place(of: path, in: top, options)
      guard place.isFolder, let inside else { return place }
      return try PathWalk.place(of: inside, in: top, options)
    } catch { throw Failure(inVault: error) }
  }

  private static func copy(
    _ source: Source, to place: Place, _ copying: Copying, _ tree: OpenTree
  ) throws(Failure) {
    let options = copying.options(for: tree, replaces: true)
    try copying.run(source.size) { () throws(CopyError) in
      switch source.content {
      case .stream(let stream):
        try FileCopy(options).copy(stream, to: place.folder, as: try name(of: place))
      case .file(let file):
        let isWhole = try FileCopy(options).copy(file, to: place.folder, as: try name(of: place))
        if !isWhole { options.report([], .attributes) }
      case .folder(let folder):
        var copy = TreeCopy(options)
        if let name = place.name, source.name != nil || !place.isFolder {
          return try copy.copy(folder, to: place.folder, as: name)
        }
        let target: any Folder
        do throws(VolumeError) { target = try place.opened() } catch { throw .target(error) }
        try copy.copyContents(of: folder, to: target)
      }
    }
  }

  /// A file takes no folder's name.
  private static func name(of place: Place) throws(CopyError) -> [UInt8] {
    guard let name = place.name, !place.isFolder else { throw .target(.system(.isDirectory)) }
    return name
  }
}

extension PutCommand {
  /// What is put into a vault, open.
  struct Source {
    enum Content {
      case file(SystemFile)
      case folder(SystemFolder)
      /// Standard input, a pipe, or a device.
      case stream(ByteStream)
    }

    let content: Content
    /// What it is called in a folder.
    let name: [UInt8]?

    /// A link is followed. A pipe that has no writer yet is waited for.
    init(_ path: [UInt8]) throws(Failure) {
      let isInput = path == [UInt8(ascii: "-")]
      name = isInput ? nil : path.lastName
      do throws(VolumeError) { content = try Self.open(path, isInput: isInput) } catch {
        throw Failure(error.errno, doing: isInput ? "standard input" : Self.shown(path))
      }
    }

    private static func shown(_ path: [UInt8]) -> String { VerifyReport.Item.shown(path) }

    private static func open(
      _ path: [UInt8], isInput: Bool
    ) throws(VolumeError) -> Content {
      let descriptor: Descriptor
      do throws(Errno) {
        descriptor = isInput ? try System.duplicate(0) : try System.open(path: path, [])
      } catch { throw .system(error) }
      let status: FileStatus
      do throws(Errno) { status = try System.status(of: descriptor) } catch {
        throw .system(error)
      }
      if status.isDirectory { return .folder(try SystemFolder(descriptor)) }
      // What was read of an input before is not read again.
      if status.isRegular, !isInput { return .file(try SystemFile(descriptor)) }
      return .stream(ByteStream(descriptor))
    }

    var isFolder: Bool { if case .folder = content { true } else { false } }

    /// In bytes; 0 if that can't be known.
    var size: UInt64 {
      switch content {
      case .file(let file): (try? file.information().size) ?? 0
      case .folder(let folder): Copying.size(of: folder)
      case .stream: 0
      }
    }
  }
}
