import FileTree
import POSIX
import Session
import Volume

/// `coffre ls`: one line for each name, in the order of their bytes.
enum ListCommand {
  static func run(_ arguments: Arguments) throws(Failure) {
    let path = arguments.paths.count > 1 ? arguments.paths[1] : []
    let style: Style =
      arguments.has("json") ? .json : arguments.has("l") ? .long : .names
    try OpenTree.with(arguments, changes: false, cleansUp: false) { (tree) throws(Failure) in
      var lines = Lines(style)
      do throws(VolumeError) {
        try list(path, tree.top, isWhole: arguments.has("r"), &lines)
      } catch {
        lines.end()
        throw Failure(inVault: error)
      }
      lines.end()
    }
  }

  private static func list(
    _ path: [UInt8], _ top: any Folder, isWhole: Bool, _ lines: inout Lines
  ) throws(VolumeError) {
    let place = try PathWalk.place(of: path, in: top, .followsLast)
    guard place.information != nil else { throw .system(.noSuchFile) }
    if !place.isFolder, let name = place.name {
      guard let entry = try TreeListing.entry(name, in: place.folder, path) else {
        throw .system(.noSuchFile)
      }
      return lines.add(entry)
    }
    try TreeListing.entries(of: try place.opened(), isWhole: isWhole) { entry in
      lines.add(entry)
      return !Output.isBroken
    }
  }

  enum Style { case names, long, json }

  /// What is to be printed, some of it at a time.
  struct Lines {
    private let style: Style
    private let isTerminal = System.isTerminal(1)
    private var bytes: [UInt8] = []
    private var count = 0

    init(_ style: Style) {
      self.style = style
      if style == .json { bytes.append(UInt8(ascii: "[")) }
    }

    mutating func add(_ entry: ListedEntry) {
      switch style {
      case .names: bytes += shown(entry.path) + [0x0a]
      case .long:
        bytes += Array((ListCommand.details(entry.information) + " ").utf8) + shown(entry.path)
        if let target = entry.target { bytes += Array(" -> ".utf8) + shown(target) }
        bytes.append(0x0a)
      case .json:
        bytes += Array(((count > 0 ? ", " : "") + ListCommand.json(entry).text).utf8)
      }
      count += 1
      if bytes.count >= 1 << 16 { flush() }
    }

    mutating func end() {
      if style == .json { bytes += Array("]\n".utf8) }
      flush()
    }

    private mutating func flush() {
      Output.bytes(bytes)
      bytes = []
    }

    /// A terminal takes some bytes for commands; a program gets names as they are.
    private func shown(_ path: [UInt8]) -> [UInt8] {
      isTerminal ? Array(VerifyReport.Item.shown(path).utf8) : path
    }
  }

  /// `-rw-------     1000     1000         4711  2026-11-30 13:45`.
  static func details(_ information: FileInformation) -> String {
    [
      mode(information), padded(String(information.user), 8),
      padded(String(information.group), 8), padded(String(information.size), 12),
      Clock.text(information.modified.seconds),
    ].joined(separator: " ")
  }

  private static func padded(_ text: String, _ width: Int) -> String {
    String(repeating: " ", count: max(0, width - text.count)) + text
  }

  /// As `ls -l` has it.
  static func mode(_ information: FileInformation) -> String {
    let type =
      switch information.kind {
      case .file: "-"
      case .folder: "d"
      case .link: "l"
      case .fifo: "p"
      case .socket: "s"
      case .device:
        information.mode & FileMode.typeMask == FileMode.block ? "b" : "c"
      }
    let bits = information.permissions
    var text = type
    for (shift, special, letters) in [
      (UInt32(6), FileMode.setUser, ("s", "S")), (3, FileMode.setGroup, ("s", "S")),
      (0, 0o1000, ("t", "T")),
    ] {
      let three = bits >> shift & 7
      let runs = three & 1 != 0
      text += (three & 4 != 0 ? "r" : "-") + (three & 2 != 0 ? "w" : "-")
      text +=
        bits & special != 0 ? (runs ? letters.0 : letters.1) : (runs ? "x" : "-")
    }
    return text
  }

  static func json(_ entry: ListedEntry) -> JSON {
    let information = entry.information
    let octal = String(information.permissions, radix: 8)
    return .object([
      ("path", .string(VerifyReport.Item.shown(entry.path))),
      ("type", .string(information.kind.rawValue)), ("size", .unsigned(information.size)),
      ("mode", .string(String(repeating: "0", count: 4 - octal.count) + octal)),
      ("user", .number(Int64(information.user))), ("group", .number(Int64(information.group))),
      ("links", .unsigned(information.links)), ("modified", .number(information.modified.seconds)),
      ("target", entry.target.map { .string(VerifyReport.Item.shown($0)) } ?? .null),
    ])
  }
}
