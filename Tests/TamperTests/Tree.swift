import Bytes
import Format
import POSIX
import TestKit
import Volume

/// What a vault holds, inode by inode, as it was read before anything was altered.
struct Tree: Sendable {
  struct Entry: Sendable {
    let path: String
    let name: [UInt8]
    let parent: InodeNumber
    let attributes: Attributes
    /// Of a directory.
    var names: [String: InodeNumber] = [:]
    /// Of a symlink.
    var target: [UInt8] = []
    var extended: [[UInt8]: [UInt8]] = [:]
    /// Of a file: what is read at these offsets.
    var pieces: [(offset: UInt64, bytes: [UInt8])] = []

    var inode: InodeNumber { attributes.inode }
    var type: UInt32 { attributes.mode & FileMode.typeMask }
  }

  static let caller = Caller(user: 0, group: 0, mask: 0o022)
  private static let pieceSize: UInt64 = 256 << 10
  private static let readWhole: UInt64 = 8 << 20

  private(set) var entries: [Entry] = []

  /// Reads a volume that nobody has touched.
  init(_ volume: Volume) throws(VolumeError) {
    var waiting = [(path: "", name: [UInt8](), parent: InodeNumber.root, inode: InodeNumber.root)]
    while let next = waiting.popLast() {
      var entry = Entry(
        path: next.path.isEmpty ? "/" : next.path, name: next.name, parent: next.parent,
        attributes: try volume.attributes(of: next.inode))
      for name in try volume.listAttributes(of: next.inode, for: Self.caller) {
        entry.extended[name] = try volume.getAttribute(name, of: next.inode)
      }
      switch entry.type {
      case FileMode.directory:
        for child in try Self.list(volume, next.inode) {
          entry.names[hex(child.name)] = child.inode
          let path = next.path + "/" + String(decoding: child.name, as: UTF8.self)
          waiting.append((path, child.name, next.inode, child.inode))
        }
      case FileMode.symlink: entry.target = try volume.symlinkTarget(of: next.inode)
      case FileMode.regular:
        for offset in Self.offsets(entry.attributes.size) {
          entry.pieces.append((offset, try Self.read(volume, next.inode, offset)))
        }
      default: break
      }
      entries.append(entry)
    }
  }

  /// Where a file is read: all of it or, of one that is huge, its ends and some of its middle.
  private static func offsets(_ size: UInt64) -> [UInt64] {
    if size <= readWhole { return Array(stride(from: 0, to: size, by: Int(pieceSize))) }
    return [0, pieceSize * 3, size / 2, size - pieceSize]
  }

  static func list(
    _ volume: Volume, _ directory: InodeNumber
  ) throws(VolumeError) -> [DirectoryEntry] {
    var found: [DirectoryEntry] = []
    // As getdents(2) does it: until nothing comes, or the error that ends a part of a list.
    while true {
      let before = found.count
      try volume.readDirectory(directory, after: found.last?.cookie ?? 0) {
        found.append($0)
        return true
      }
      if found.count == before { return found }
    }
  }

  static func read(
    _ volume: Volume, _ inode: InodeNumber, _ offset: UInt64
  ) throws(VolumeError) -> [UInt8] {
    let buffer = Buffer(count: Int(pieceSize))
    var span = buffer.mutableBytes(in: 0..<buffer.count)
    let count = try volume.read(inode, into: &span, at: offset)
    return buffer.load(0..<count)
  }

  func entry(_ path: String) -> Entry {
    guard let entry = entries.first(where: { $0.path == path }) else {
      preconditionFailure("the tree has \(path)")
    }
    return entry
  }

  /// Some directories with all that is in them.
  func below(_ paths: [String]) -> Tree {
    var copy = self
    copy.entries.removeAll { entry in
      !paths.contains { entry.path == $0 || entry.path.hasPrefix($0 + "/") }
    }
    return copy
  }

  /// Everything but some inodes.
  func without(_ inodes: Set<InodeNumber>) -> Tree {
    var copy = self
    copy.entries.removeAll { inodes.contains($0.inode) }
    return copy
  }
}

/// What came of looking at everything a tree holds.
struct Findings: Sendable {
  /// Answers that were neither right nor an error that names what is damaged.
  var wrong: [String] = []
  /// What errors named.
  var damage: [String] = []
  var right = 0

  mutating func check(
    _ what: @autoclosure () -> String, _ body: () throws(VolumeError) -> Bool
  ) {
    do throws(VolumeError) {
      if try body() { right += 1 } else { wrong.append("\(what()) is wrong") }
    } catch {
      if case .damaged(let object) = error, Self.isNamed(object) {
        damage.append(object)
      } else {
        wrong.append("\(what()): \(error)")
      }
    }
  }

  /// Whether a text names an object of the store.
  static func isNamed(_ text: String) -> Bool {
    ["slot ", "meta-", "data", "journal", "root", "coffre.conf", "reserve", "lock"].contains {
      text.contains($0)
    }
  }
}

extension Tree {
  /// Looks at everything by inode, so that damage to one thing hides no other.
  func examine(_ volume: Volume) -> Findings {
    var findings = Findings()
    let buffer = Buffer(count: Int(Self.pieceSize))
    for entry in entries { examine(entry, volume, buffer, &findings) }
    return findings
  }

  private func examine(
    _ entry: Entry, _ volume: Volume, _ buffer: Buffer, _ findings: inout Findings
  ) {
    let inode = entry.inode
    findings.check("\(entry.path): stat") { () throws(VolumeError) in
      try volume.attributes(of: inode) == entry.attributes
    }
    if !entry.name.isEmpty {
      findings.check("\(entry.path): lookup") { () throws(VolumeError) in
        try volume.lookup(FileName(entry.name), in: entry.parent).inode == inode
      }
    }
    findings.check("\(entry.path): listxattr") { () throws(VolumeError) in
      try Set(volume.listAttributes(of: inode, for: Self.caller)) == Set(entry.extended.keys)
    }
    for (name, value) in entry.extended {
      findings.check("\(entry.path): getxattr") { () throws(VolumeError) in
        try volume.getAttribute(name, of: inode) == value
      }
    }
    switch entry.type {
    case FileMode.directory:
      findings.check("\(entry.path): readdir") { () throws(VolumeError) in
        var found: [String: InodeNumber] = [:]
        for child in try Self.list(volume, inode) { found[hex(child.name)] = child.inode }
        return found == entry.names
      }
    case FileMode.symlink:
      findings.check("\(entry.path): readlink") { () throws(VolumeError) in
        try volume.symlinkTarget(of: inode) == entry.target
      }
    default: examineContents(entry, volume, buffer, &findings)
    }
  }

  /// A file's contents alone.
  func examineContents(_ entry: Entry, _ volume: Volume) -> Findings {
    var findings = Findings()
    examineContents(entry, volume, Buffer(count: Int(Self.pieceSize)), &findings)
    return findings
  }

  private func examineContents(
    _ entry: Entry, _ volume: Volume, _ buffer: Buffer, _ findings: inout Findings
  ) {
    for piece in entry.pieces {
      findings.check("\(entry.path): read at \(piece.offset)") { () throws(VolumeError) in
        var span = buffer.mutableBytes(in: 0..<buffer.count)
        let count = try volume.read(entry.inode, into: &span, at: piece.offset)
        return count == piece.bytes.count && buffer.equals(piece.bytes, at: 0)
      }
    }
  }
}
