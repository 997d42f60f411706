import POSIX
import Volume

/// Copies a folder with all that is in it, into a folder that may have something already.
///
/// Each file is replaced whole or not at all. What can't be copied is reported, and the rest goes
/// on; only a target that takes nothing more ends it.
package struct TreeCopy {
  private struct Level {
    let from: any Folder
    let to: any Folder
    let path: [UInt8]
    /// The last one comes next.
    var names: [[UInt8]]
    /// Of folders that were made; those that were there stay as they are.
    let kept: KeptAttributes?
  }

  private let options: CopyOptions
  private let files: FileCopy
  private var levels: [Level] = []
  /// Where the copy goes is never copied, or it would not end.
  private var excluded: Set<String>

  package init(_ options: CopyOptions) {
    self.options = options
    excluded = options.excluded
    files = FileCopy(options)
  }

  /// Copies a folder as one that has a name in another.
  package mutating func copy(
    _ source: any Folder, to folder: any Folder, as name: [UInt8]
  ) throws(CopyError) {
    try enter(source, folder, name, [])
    try run()
    if options.syncsEach { try writing { () throws(VolumeError) in try folder.sync() } }
  }

  /// Copies what is in a folder into another one.
  package mutating func copyContents(
    of source: any Folder, to folder: any Folder
  ) throws(CopyError) {
    if let identity = folder.identity { excluded.insert(identity) }
    let names = try reading { () throws(VolumeError) in try source.names() }
    levels.append(Level(from: source, to: folder, path: [], names: names, kept: nil))
    try run()
  }

  private mutating func run() throws(CopyError) {
    while var level = levels.popLast() {
      if options.isStopped() { throw .stopped }
      guard let name = level.names.popLast() else {
        try leave(level)
        continue
      }
      levels.append(level)
      let path = level.path + name
      do throws(CopyError) { try copy(name, level, path) } catch {
        if error.endsAll { throw error }
        options.report(path, error == .target(.system(.exists)) ? .exists : .failed(error))
      }
    }
  }

  private mutating func copy(
    _ name: [UInt8], _ level: Level, _ path: [UInt8]
  ) throws(CopyError) {
    let found = try reading { () throws(VolumeError) in try level.from.information(of: name) }
    switch found.kind {
    case .folder:
      let source = try reading { () throws(VolumeError) in try level.from.folder(name) }
      try enter(source, level.to, name, path)
    case .file:
      let source = try reading { () throws(VolumeError) in try level.from.file(name) }
      try checkFree(name, in: level.to)
      let isWhole = try files.copy(
        source, to: level.to, as: name, syncing: options.syncsEach)
      if !isWhole { options.report(path, .attributes) }
    case .link:
      let target = try reading { () throws(VolumeError) in try level.from.linkTarget(of: name) }
      try checkFree(name, in: level.to)
      try makeLink(name, to: target, found, in: level.to)
    case .fifo, .socket, .device: options.report(path, .special(found.kind))
    }
  }

  /// Before a file is copied in vain. A folder is never replaced by anything else.
  private func checkFree(_ name: [UInt8], in folder: any Folder) throws(CopyError) {
    guard let there = try? folder.information(of: name) else { return }
    guard options.replaces, there.kind != .folder else { throw .target(.system(.exists)) }
  }

  private func makeLink(
    _ name: [UInt8], to target: [UInt8], _ information: FileInformation, in folder: any Folder
  ) throws(CopyError) {
    try writing { () throws(VolumeError) in
      let draft = Draft.name
      try folder.makeLink(draft, to: target)
      do throws(VolumeError) {
        try folder.take(KeptAttributes(information), forLink: draft)
        try folder.rename(draft, to: name, in: folder, replacing: options.replaces)
      } catch {
        try? folder.remove(draft, isFolder: false)
        throw error
      }
    }
  }

  /// Goes into a folder; one that is missing in the target is made, for its owner alone until all
  /// is in it.
  private mutating func enter(
    _ source: any Folder, _ target: any Folder, _ name: [UInt8], _ path: [UInt8]
  ) throws(CopyError) {
    if let identity = source.identity, excluded.contains(identity) {
      return options.report(path, .inside)
    }
    let information = try reading { () throws(VolumeError) in try source.information() }
    let extended = try reading { () throws(VolumeError) in try source.extendedAttributes() }
    let names = try reading { () throws(VolumeError) in try source.names() }
    let there = try? target.information(of: name)
    if let there, there.kind != .folder { throw .target(.system(.exists)) }
    let opened = try writing { () throws(VolumeError) in
      if there == nil { try target.makeFolder(name) }
      return try target.folder(name)
    }
    if levels.isEmpty, let identity = opened.identity { excluded.insert(identity) }
    levels.append(
      Level(
        from: source, to: opened, path: path.isEmpty ? [] : path + [0x2f], names: names,
        kept: there == nil ? KeptAttributes(information, extended) : nil))
  }

  private func leave(_ level: Level) throws(CopyError) {
    try writing { () throws(VolumeError) in
      if let kept = level.kept, try !level.to.take(kept) {
        options.report(level.path, .attributes)
      }
      if options.syncsEach { try level.to.sync() }
    }
  }

  /// The bytes of all files below a folder, as far as they can be seen before somebody stops it.
  package static func size(
    of folder: any Folder, isStopped: () -> Bool = { false }
  ) -> UInt64 {
    var sum: UInt64 = 0
    try? TreeListing.entries(of: folder, isWhole: true) { entry in
      if entry.information.kind == .file { sum &+= entry.information.size }
      return !isStopped()
    }
    return sum
  }
}

extension CopyError {
  /// Whether what comes after would fail as well.
  fileprivate var endsAll: Bool {
    switch self {
    case .stopped: true
    case .source(let error): Self.isOver(error)
    case .target(let error): Self.isOver(error) || error.errno.isFull
    }
  }

  /// The vault was locked, or nothing can be changed there.
  private static func isOver(_ error: VolumeError) -> Bool {
    switch error {
    case .locked, .readOnly: true
    case .damaged: false
    case .system(let errno):
      [.readOnly, .notConnected, .aborted, .stale].contains(errno)
    }
  }
}
