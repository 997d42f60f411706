import POSIX
import Vault
import Volume

/// What `coffre verify` has found, ready to be shown: paths are text here.
package struct VerifyReport: Hashable, Sendable {
  package enum Outcome: String, Sendable { case clean, damaged, repaired }

  /// One thing that is wrong.
  package struct Item: Hashable, Sendable {
    package var kind: String
    package var objects: [String] = []
    package var slot: UInt32?
    package var noun: String?
    package var inode: UInt64?
    package var path: String?
    package var bytes: Range<UInt64>?
    package var detail: String?
    package var isRepaired = false
  }

  package var items: [Item] = []
  package var omitted: UInt64 = 0
  package var files: UInt64 = 0
  package var directories: UInt64 = 0
  package var others: UInt64 = 0
  package var chunks: UInt64 = 0
  package var pages: UInt64 = 0
  package var isCompared = false
  /// Whether this machine has seen a later state of the vault, or another one.
  package var isOlder = false
  /// Why not everything could be repaired, as a sentence.
  package var repairFailure: String?
  /// What a person should be told besides, as sentences.
  package var notices: [String] = []

  package init() {}

  package var outcome: Outcome {
    if items.isEmpty && omitted == 0 { return .clean }
    // What is repaired in memory and could not be stored is not.
    let isRepaired = omitted == 0 && repairFailure == nil && items.allSatisfy { $0.isRepaired }
    return isRepaired ? .repaired : .damaged
  }
}

extension VerifyReport {
  init(_ result: VerifyResult, vault: String) {
    items = result.report.damages.map { Item($0) }
    omitted = result.report.omitted
    files = result.report.files
    directories = result.report.directories
    others = result.report.others
    chunks = result.report.chunks
    pages = result.report.pages
    isCompared = result.report.isCompared
    isOlder = result.isOlder
    repairFailure = result.repairFailure.map { Failure($0, vault: vault).message }
    notices = result.notices
  }
}

extension VerifyReport.Item {
  init(_ damage: Damage) {
    kind = damage.kind.rawValue
    objects = damage.objects
    slot = damage.slot
    noun = damage.noun
    inode = damage.inode == 0 ? nil : damage.inode
    path = damage.path.map { $0.isEmpty ? "/" : Self.shown($0) }
    bytes = damage.range
    detail = damage.detail
    isRepaired = damage.isRepaired
  }

  /// A path as text that is safe on a terminal: control characters, backslashes and bytes that are
  /// no UTF-8 as `\xNN`.
  package static func shown(_ path: [UInt8]) -> String {
    var text = ""
    var rest = path[...]
    while let byte = rest.first {
      let length = byte < 0x80 ? 1 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4
      let part = rest.prefix(length)
      if let whole = String(validating: part, as: UTF8.self),
        let scalar = whole.unicodeScalars.first,
        whole.unicodeScalars.count == 1, isPlain(scalar)
      {
        text.unicodeScalars.append(scalar)
        rest = rest.dropFirst(part.count)
      } else {
        text += "\\x" + (byte < 16 ? "0" : "") + String(byte, radix: 16)
        rest = rest.dropFirst()
      }
    }
    return text
  }

  private static func isPlain(_ scalar: Unicode.Scalar) -> Bool {
    if scalar == "\\" { return false }
    switch scalar.properties.generalCategory {
    // Formats turn the direction of a line round.
    case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .unassigned,
      .privateUse:
      return false
    default: return true
    }
  }

  /// One line: where it is stored, what it is, what there is to say.
  package var line: String {
    var parts: [String] = []
    if !objects.isEmpty {
      let place = slot.map { " slot \($0)" } ?? ""
      parts.append(objects.map { $0 + place }.joined(separator: " and "))
    }
    var subject = ""
    if let path {
      subject = "\(noun ?? "name") \(path)"
    } else if let inode {
      subject = "inode \(inode)"
    }
    if let bytes { subject += " bytes \(bytes.lowerBound)-\(bytes.upperBound - 1)" }
    if !subject.isEmpty { parts.append(subject) }
    if let detail { parts.append(detail) }
    return parts.joined(separator: ": ") + (isRepaired ? " (repaired)" : "")
  }
}

extension VerifyReport.Item {
  var message: Message {
    var message = Message("damage", ["kind": kind, "repaired": isRepaired ? "yes" : "no"])
    message["objects"] = objects.isEmpty ? nil : objects.joined(separator: ",")
    message["slot"] = slot.map { String($0) }
    message["noun"] = noun
    message["inode"] = inode.map { String($0) }
    message["path"] = path.map(Self.shortened)
    message["first"] = bytes.map { String($0.lowerBound) }
    message["end"] = bytes.map { String($0.upperBound) }
    message["detail"] = detail
    return message
  }

  /// The end of a path that would not fit a line: each byte may take three there.
  private static func shortened(_ path: String) -> String {
    guard path.utf8.count > 8192 else { return path }
    return "..." + String(decoding: path.utf8.suffix(8192), as: UTF8.self)
  }

  init?(_ message: Message) {
    guard message.verb == "damage", let kind = message["kind"] else { return nil }
    self.kind = kind
    objects = message["objects"].map { $0.parts(between: ",") } ?? []
    slot = message["slot"].flatMap { UInt32($0) }
    noun = message["noun"]
    inode = message["inode"].flatMap { UInt64($0) }
    path = message["path"]
    if let first = message["first"].flatMap({ UInt64($0) }),
      let end = message["end"].flatMap({ UInt64($0) }), first < end
    {
      bytes = first..<end
    }
    detail = message["detail"]
    isRepaired = message["repaired"] == "yes"
  }
}

extension VerifyReport {
  /// The last line of an answer; what is damaged goes before it.
  var message: Message {
    Message(
      "verified",
      [
        "omitted": String(omitted), "files": String(files), "directories": String(directories),
        "others": String(others), "chunks": String(chunks), "pages": String(pages),
        "compared": isCompared ? "yes" : "no", "older": isOlder ? "yes" : "no",
      ])
  }

  init?(_ message: Message, items: [Item]) {
    guard message.verb == "verified" else { return nil }
    func number(_ name: String) -> UInt64 { message[name].flatMap { UInt64($0) } ?? 0 }
    self.items = items
    omitted = number("omitted")
    files = number("files")
    directories = number("directories")
    others = number("others")
    chunks = number("chunks")
    pages = number("pages")
    isCompared = message["compared"] == "yes"
    isOlder = message["older"] == "yes"
  }
}
