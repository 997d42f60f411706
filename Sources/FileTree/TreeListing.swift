import POSIX
package import Volume

/// What a listing shows of one name.
package struct ListedEntry: Hashable, Sendable {
  /// From where the listing begins.
  package let path: [UInt8]
  package let information: FileInformation
  /// Of a link.
  package let target: [UInt8]?
}

package enum TreeListing {
  private struct Level {
    let folder: any Folder
    let path: [UInt8]
    /// The last one comes next.
    var names: [[UInt8]]
  }

  /// What is in a folder, in the order of the bytes; `isWhole` goes into the folders in it, each
  /// after its own line. Stops when `body` answers false.
  package static func entries(
    of folder: any Folder, isWhole: Bool, _ body: (ListedEntry) -> Bool
  ) throws(VolumeError) {
    var levels = [try level(folder, [])]
    while let name = levels[levels.count - 1].names.popLast() ?? up(&levels) {
      let level = levels[levels.count - 1]
      guard let entry = try entry(name, in: level.folder, level.path + name) else { continue }
      guard body(entry) else { return }
      guard isWhole, entry.information.kind == .folder else { continue }
      levels.append(try self.level(try level.folder.folder(name), entry.path + [0x2f]))
    }
  }

  /// Nil if it is not there any more.
  package static func entry(
    _ name: [UInt8], in folder: any Folder, _ path: [UInt8]
  ) throws(VolumeError) -> ListedEntry? {
    do throws(VolumeError) {
      let information = try folder.information(of: name)
      let target = information.kind == .link ? try folder.linkTarget(of: name) : nil
      return ListedEntry(path: path, information: information, target: target)
    } catch {
      guard error == .system(.noSuchFile) else { throw error }
      return nil
    }
  }

  private static func level(
    _ folder: any Folder, _ path: [UInt8]
  ) throws(VolumeError) -> Level {
    let names = try folder.names().sorted { $1.lexicographicallyPrecedes($0) }
    return Level(folder: folder, path: path, names: names)
  }

  /// The next name of the levels above; nil at the end.
  private static func up(_ levels: inout [Level]) -> [UInt8]? {
    while levels.count > 1 {
      levels.removeLast()
      if let name = levels[levels.count - 1].names.popLast() { return name }
    }
    return nil
  }
}
