package import Volume

/// Removing what has a name, with all that is in it.
package struct Removal {
  private struct Level {
    let folder: any Folder
    /// Of this folder, in the one before it.
    let name: [UInt8]
    var names: [[UInt8]]
  }

  /// Asked before each name; throws to stop.
  private let checkStop: () throws(VolumeError) -> Void
  private var levels: [Level] = []

  package init(checkStop: @escaping () throws(VolumeError) -> Void) {
    self.checkStop = checkStop
  }

  /// A link is removed and not followed. Without an end to the depth, and without a stack of calls.
  package mutating func remove(
    _ name: [UInt8], in folder: any Folder, isFolder: Bool
  ) throws(VolumeError) {
    guard isFolder else { return try folder.remove(name, isFolder: false) }
    try enter(name, in: folder)
    while var level = levels.popLast() {
      try checkStop()
      let above = levels.last?.folder ?? folder
      guard let next = level.names.popLast() else {
        try above.remove(level.name, isFolder: true)
        continue
      }
      levels.append(level)
      if try level.folder.information(of: next).kind == .folder {
        try enter(next, in: level.folder)
      } else {
        try level.folder.remove(next, isFolder: false)
      }
    }
  }

  private mutating func enter(_ name: [UInt8], in folder: any Folder) throws(VolumeError) {
    let opened = try folder.folder(name)
    levels.append(Level(folder: opened, name: name, names: try opened.names()))
  }
}
