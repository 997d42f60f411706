/// One line between the parts of Coffre: a verb and named fields, as `verb name=value name=value`.
///
/// Values are UTF-8 with everything but letters, digits and a few signs written as %XX, so that any
/// path fits a line.
struct Message: Hashable, Sendable {
  var verb: String
  private(set) var fields: [String: String] = [:]

  init(_ verb: String, _ fields: [String: String] = [:]) {
    self.verb = verb
    self.fields = fields
  }

  subscript(name: String) -> String? {
    get { fields[name] }
    set { fields[name] = newValue }
  }

  /// The line, its newline included.
  var line: [UInt8] {
    let parts = fields.sorted { $0.key < $1.key }.map { " \($0.key)=\(Self.escape($0.value))" }
    return Array((verb + parts.joined() + "\n").utf8)
  }

  /// Nil for what is no such line.
  init?(line: [UInt8]) {
    let words = line.split(separator: UInt8(ascii: " "))
    guard let first = words.first else { return nil }
    verb = String(decoding: first, as: UTF8.self)
    for word in words.dropFirst() {
      guard let equals = word.firstIndex(of: UInt8(ascii: "=")),
        let value = Self.unescape(word[(equals + 1)...])
      else { return nil }
      fields[String(decoding: word[..<equals], as: UTF8.self)] = value
    }
  }

  /// A line that came as one packet.
  init?(packet: [UInt8]) {
    self.init(line: packet.filter { $0 != UInt8(ascii: "\n") })
  }

  private static func isPlain(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "/"), UInt8(ascii: "."),
      UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: ","):
      true
    default: false
    }
  }

  private static func escape(_ value: String) -> String {
    var text = ""
    for byte in value.utf8 {
      if isPlain(byte) {
        text.unicodeScalars.append(Unicode.Scalar(byte))
      } else {
        text += (byte < 16 ? "%0" : "%") + String(byte, radix: 16)
      }
    }
    return text
  }

  private static func unescape(_ bytes: ArraySlice<UInt8>) -> String? {
    var value: [UInt8] = []
    var index = bytes.startIndex
    while index < bytes.endIndex {
      if bytes[index] != UInt8(ascii: "%") {
        value.append(bytes[index])
        index += 1
        continue
      }
      guard index + 2 < bytes.endIndex,
        let byte = UInt8(
          String(decoding: bytes[(index + 1)...(index + 2)], as: UTF8.self), radix: 16)
      else { return nil }
      value.append(byte)
      index += 3
    }
    return String(decoding: value, as: UTF8.self)
  }
}

extension Message {
  /// A failure as it crosses a pipe or a socket.
  init(_ failure: Failure) {
    self.init("failed", ["code": String(failure.code.rawValue), "message": failure.message])
    self["hint"] = failure.hint
  }

  /// The failure a line tells of; nil if it tells of none.
  var failure: Failure? {
    guard verb == "failed" else { return nil }
    let code = self["code"].flatMap { Int32($0) }.flatMap { ExitCode(rawValue: $0) }
    return Failure(code ?? .systemError, self["message"] ?? "it failed", hint: self["hint"])
  }
}
