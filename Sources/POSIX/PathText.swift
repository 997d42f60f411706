/// Paths as the bytes they are. What Swift takes for one character may be a slash with an accent,
/// and what it takes for equal may be two files.
extension String {
  /// Whether two paths are one.
  package func hasSameBytes(as other: String) -> Bool { utf8.elementsEqual(other.utf8) }

  /// Whether a path is this one or inside of it; both absolute and without links.
  package func containsPath(_ inner: String) -> Bool {
    hasSameBytes(as: inner) || self == "/" || inner.utf8.starts(with: (self + "/").utf8)
  }

  /// A path without slashes at its end: with them, a link counts as what it leads to.
  package var withoutLastSlashes: String {
    var rest = utf8[...]
    while rest.count > 1, rest.last == UInt8(ascii: "/") { rest.removeLast() }
    return String(Substring(rest))
  }

  /// The folder a path is in, and its name there.
  package var pathParts: (folder: String, name: String) {
    let path = withoutLastSlashes
    guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return (".", path) }
    let folder = String(Substring(path.utf8[..<slash]))
    let name = String(Substring(path.utf8[path.utf8.index(after: slash)...]))
    return (folder.isEmpty ? "/" : folder, name)
  }

  /// The parts between separators, none of them empty.
  package func parts(between separator: Unicode.Scalar) -> [String] {
    unicodeScalars.split(separator: separator).map { String(Substring($0)) }
  }
}
