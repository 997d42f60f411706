import TestKit

/// One line of one file, to say where something is wrong.
struct Line: Sendable, CustomStringConvertible {
  let path: String
  let number: Int
  let text: String

  var description: String { "\(path):\(number): \(text)" }
}

/// The files of this repository, read once.
enum Repository {
  /// The folder this file is three levels below.
  static let root = String(
    #filePath.split(separator: "/", omittingEmptySubsequences: false).dropLast(3)
      .joined(separator: "/"))

  struct File: Sendable {
    /// From the root.
    let path: String
    let lines: [Line]

    var module: String { path.split(separator: "/").dropFirst().first.map(String.init) ?? "" }
  }

  private static func read(_ paths: [String]) -> [File] {
    paths.map { full in
      let path = String(full.dropFirst(root.count + 1))
      let lines = (readLines(full) ?? []).enumerated().map {
        Line(path: path, number: $0.offset + 1, text: $0.element)
      }
      return File(path: path, lines: lines)
    }
  }

  private static func below(_ folder: String, _ suffixes: [String]) -> [File] {
    let paths = filesBelow(root + "/" + folder)
    return read(paths.filter { path in suffixes.contains { path.hasSuffix($0) } })
  }

  static let package = read([root + "/Package.swift"])[0]
  static let sources = below("Sources", [".swift"])
  static let tests = below("Tests", [".swift"])
  /// C of ours, headers and module maps.
  static let shims = below("Sources", [".c", ".h", ".modulemap"])
  /// What people read.
  static let documents =
    below("docs", [".md"])
    + read(namesInFolder(root).filter { $0.hasSuffix(".md") }.map { root + "/" + $0 })
}
