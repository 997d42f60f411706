package import Session

/// An option a verb knows.
package struct Option: Hashable, Sendable {
  /// Without the dashes; one letter stands for `-o`.
  package let name: String
  /// How the value is called in the help; nil for a switch.
  package let value: String?
  package let help: String
  /// Whether the value may be left out; then it is attached, `--option=value`, or there is none.
  package let takesNone: Bool

  package init(_ name: String, value: String? = nil, takesNone: Bool = false, _ help: String) {
    self.name = name
    self.value = value
    self.takesNone = takesNone
    self.help = help
  }

  /// As the help shows it, with its value.
  var usage: String {
    guard let value else { return spelling }
    return takesNone ? "\(spelling)[=\(value)]" : "\(spelling) \(value)"
  }

  package var spelling: String { (name.count == 1 ? "-" : "--") + name }
}

/// The words of a command line, sorted into options and the rest.
///
/// `--option value` and `--option=value` are the same, `-o value` and `-ovalue` too; after `--`
/// nothing is an option.
package struct Arguments: Hashable, Sendable {
  /// The paths, as the bytes they are.
  package private(set) var paths: [[UInt8]] = []
  private var values: [String: [String]] = [:]

  /// The paths of a verb that takes text only.
  package var positional: [String] { paths.map { String(decoding: $0, as: UTF8.self) } }

  package init(parsing words: [String], options: [Option]) throws(Failure) {
    try self.init(parsing: words.map { Array($0.utf8) }, options: options)
  }

  /// A word that is no text can be a path, and nothing else.
  package init(parsing words: [[UInt8]], options: [Option]) throws(Failure) {
    var rest = words[...]
    while let word = rest.popFirst() {
      if word == Array("--".utf8) {
        paths += rest
        return
      }
      guard word.first == UInt8(ascii: "-"), word.count > 1 else {
        paths.append(word)
        continue
      }
      let (spelling, attached) = Self.split(try Self.text(word))
      guard let option = options.first(where: { $0.spelling == spelling }) else {
        throw Failure(.usage, "no option \(spelling) here")
      }
      try take(option, attached, &rest)
    }
  }

  private static func text(_ word: [UInt8]) throws(Failure) -> String {
    guard let text = String(validating: word, as: UTF8.self) else {
      throw Failure(
        .usage, "an option is not UTF-8", hint: "paths that begin with - stand after --")
    }
    return text
  }

  /// The option's own part of a word, and the value attached to it.
  private static func split(_ word: String) -> (String, String?) {
    // A value may begin with an accent, which Swift takes for a part of what is before it.
    let scalars = word.unicodeScalars
    if word.utf8.starts(with: "--".utf8) {
      guard let equals = scalars.firstIndex(of: "=") else { return (word, nil) }
      let value = scalars[scalars.index(after: equals)...]
      return (String(Substring(scalars[..<equals])), String(Substring(value)))
    }
    let value = scalars.dropFirst(2)
    return (String(Substring(scalars.prefix(2))), value.isEmpty ? nil : String(Substring(value)))
  }

  private mutating func take(
    _ option: Option, _ attached: String?, _ rest: inout ArraySlice<[UInt8]>
  ) throws(Failure) {
    if option.value == nil {
      if let attached {
        guard option.name.count == 1, attached.utf8.first != UInt8(ascii: "-") else {
          throw Failure(.usage, "\(option.spelling) takes no value")
        }
        // Letters that take no value may stand together.
        rest = [Array("-\(attached)".utf8)] + rest
      }
      values[option.name, default: []].append("")
      return
    }
    let next = option.takesNone || attached != nil ? nil : rest.popFirst()
    let word = try next.map { (word) throws(Failure) in try Self.text(word) }
    guard let value = attached ?? word ?? (option.takesNone ? "" : nil) else {
      throw Failure(.usage, "\(option.spelling) needs a value")
    }
    if option.name.count > 1, values[option.name] != nil {
      throw Failure(.usage, "\(option.spelling) is given twice")
    }
    values[option.name, default: []].append(value)
  }

  package func has(_ name: String) -> Bool { values[name] != nil }
  /// Empty for an option that stands there without one.
  package func value(_ name: String) -> String? { values[name]?.last }
  package func all(_ name: String) -> [String] { values[name] ?? [] }
}

/// Times as people write them.
package enum Duration {
  /// `90s`, `15m`, `2h`, `1d`; a plain number is seconds. `never` is nil. Zero and more than a year
  /// are refused.
  package static func seconds(_ text: String) throws(Failure) -> UInt64? {
    if text == "never" { return nil }
    let units: [Character: UInt64] = ["s": 1, "m": 60, "h": 3600, "d": 86400]
    let unit = text.last.flatMap { units[$0] }
    let digits = unit == nil ? text[...] : text.dropLast()
    guard !digits.isEmpty, digits.allSatisfy({ "0123456789".contains($0) }),
      let number = UInt64(digits), number > 0, number <= 366 * 86400,
      case let seconds = number * (unit ?? 1), seconds <= 366 * 86400
    else {
      throw Failure(.usage, "\(text) is no duration", hint: "write 90s, 15m, 2h, 1d or never")
    }
    return seconds
  }

  /// The shortest way to write a number of seconds.
  package static func text(_ seconds: UInt64?) -> String {
    guard let seconds else { return "never" }
    for (unit, size) in [("d", UInt64(86400)), ("h", 3600), ("m", 60)]
    where seconds >= size && seconds % size == 0 {
      return "\(seconds / size)\(unit)"
    }
    return "\(seconds)s"
  }
}
