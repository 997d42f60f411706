/// What there is below the root, in a form in which a volume and the model can be compared.
package struct Listing: Sendable, Equatable {
  package enum Kind: String, Sendable, Equatable {
    case file, directory, symlink, other
  }

  package struct Entry: Sendable, Equatable {
    package var kind: Kind
    /// Of a file in bytes; of anything else 0.
    package var size = 0
    package var links: Int
    package var attributes: [[UInt8]: [UInt8]] = [:]
    package var target: [UInt8] = []
    /// Permission bits, and the time of the last access in seconds where it was set; 0 and nil
    /// unless asked for.
    package var mode: UInt32 = 0
    package var accessed: Int64?
    /// The first path of the same inode, which tells hard links from copies.
    package var first = ""
    /// The bytes, pages of zeros left out.
    var content = SparseContent()

    package var summary: String {
      let data = content.pages.keys.sorted()
      return "\(kind) size \(size) links \(links) first \(first) attributes \(attributes.count) "
        + "target \(target.count) mode \(String(mode, radix: 8)) accessed \(accessed ?? -1) "
        + "data pages \(data)"
    }
  }

  /// By path, the root being "/".
  package var entries: [String: Entry] = [:]

  package init() {}

  /// A path as text: bytes outside of ASCII as %XX.
  package static func text(_ path: Path) -> String {
    guard !path.isEmpty else { return "/" }
    return path.map { name in
      "/"
        + name.map { byte in
          (0x21...0x7e).contains(byte) && byte != 0x25
            ? String(Unicode.Scalar(byte)) : "%" + hex([byte])
        }.joined()
    }.joined()
  }

  /// Sentences on what differs; none if nothing does.
  package func differences(from other: Listing, limit: Int = 10) -> [String] {
    let paths = Set(entries.keys).union(other.entries.keys).sorted()
    let different = paths.filter { entries[$0] != other.entries[$0] }
    return different.prefix(limit).map { path in
      let mine = entries[path]?.summary ?? "nothing"
      let theirs = other.entries[path]?.summary ?? "nothing"
      return "\(path): \(mine) <> \(theirs)" + (mine == theirs ? " (other bytes)" : "")
    }
  }
}

/// The bytes of a file as a whole, to be compared.
package struct FileContent: Sendable, Equatable {
  private let content: SparseContent
  package var size: Int { content.size }
  init(_ content: SparseContent) { self.content = content }
}

extension Listing {
  /// The same without the sizes and the bytes of files.
  package var names: Listing {
    var copy = self
    copy.entries = entries.mapValues { entry in
      var entry = entry
      entry.size = 0
      entry.content = SparseContent()
      return entry
    }
    return copy
  }

  /// The bytes of what has a path; nil unless it is a file.
  package func content(of path: String) -> FileContent? {
    guard let entry = entries[path], entry.kind == .file else { return nil }
    return FileContent(entry.content)
  }
}

extension ModelVolume {
  package var listing: Listing { listing(attributes: false) }

  /// With or without modes and times; the root's depend on who made it.
  package func listing(attributes: Bool) -> Listing {
    var listing = Listing()
    var first: [Int: String] = [:]
    func visit(_ number: Int, _ path: Path) {
      let text = Listing.text(path)
      let node = node(number)
      var entry = Listing.Entry(kind: .other, links: node.links, attributes: node.attributes)
      first[number] = first[number] ?? text
      entry.first = first[number] ?? ""
      if attributes && !path.isEmpty {
        entry.mode = node.mode
        entry.accessed = node.accessed
      }
      switch node.kind {
      case .fifo: break
      case .file(let content):
        entry.kind = .file
        entry.size = content.size
        entry.content = content.withoutZeros
      case .symlink(let target):
        entry.kind = .symlink
        entry.target = target
      case .directory(let entries):
        entry.kind = .directory
        for name in entries.keys.sorted(by: { $0.lexicographicallyPrecedes($1) }) {
          if let child = entries[name] { visit(child, path + [name]) }
        }
      }
      listing.entries[text] = entry
    }
    visit(Self.root, [])
    return listing
  }
}

extension SparseContent {
  /// The same bytes, with every page of zeros a hole.
  var withoutZeros: SparseContent {
    var copy = self
    copy.dropZeroPages()
    return copy
  }
}
