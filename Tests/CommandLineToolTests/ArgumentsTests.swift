import CommandLineTool
import POSIX
import Session
import Testing

/// The parser takes every spelling there is, and refuses the rest with a sentence.
@Suite struct ArgumentsTests {
  private static let options = [
    Option("json", "a switch"), Option("lock-after", value: "TIME", "a value"),
    Option("o", value: "OPTION", "one letter"),
    Option("wait", value: "TIME", takesNone: true, "a value or none"),
    Option("l", "a letter"), Option("r", "another"),
  ]

  private func parse(_ words: String...) throws -> Arguments {
    try Arguments(parsing: words, options: Self.options)
  }

  @Test func optionsAndPathsMayBeMixed() throws {
    let arguments = try parse("a", "--json", "b", "--lock-after", "5m", "c")
    #expect(arguments.positional == ["a", "b", "c"])
    #expect(arguments.has("json") && arguments.value("lock-after") == "5m")
  }

  @Test func lettersMayStandTogether() throws {
    let arguments = try parse("-lr", "a")
    #expect(arguments.has("l") && arguments.has("r") && arguments.positional == ["a"])
    let last = try parse("-rlodev")
    #expect(last.has("l") && last.has("r") && last.value("o") == "dev")
    for word in ["-lx", "-l-", "-l--json"] {
      #expect(throws: Failure.self) { try parse(word) }
    }
    #expect(throws: Failure.self) { try parse("--json=x") }
  }

  /// A path may be any bytes, an option may not.
  @Test func pathsAreBytes() throws {
    let path: [UInt8] = [0x61, 0xff]
    let arguments = try Arguments(
      parsing: [path, Array("--json".utf8), Array("--".utf8), [0x2d, 0xff]], options: Self.options)
    #expect(arguments.paths == [path, [0x2d, 0xff]] && arguments.has("json"))
    #expect(throws: Failure.self) {
      try Arguments(parsing: [[0x2d, 0xff]], options: Self.options)
    }
    #expect(throws: Failure.self) {
      try Arguments(parsing: [Array("--lock-after".utf8), path], options: Self.options)
    }
  }

  @Test func aValueMayBeAttached() throws {
    #expect(try parse("--lock-after=5m").value("lock-after") == "5m")
    #expect(try parse("--lock-after=a=b").value("lock-after") == "a=b")
    #expect(try parse("--lock-after=").value("lock-after") == "")
    #expect(try parse("-oro", "-o", "dev").all("o") == ["ro", "dev"])
  }

  @Test func aValueMayLookLikeAnOption() throws {
    #expect(try parse("--lock-after", "--json").value("lock-after") == "--json")
  }

  @Test func aValueMayBeLeftOut() throws {
    let bare = try parse("--wait", "5m")
    #expect(bare.has("wait") && bare.value("wait") == "" && bare.positional == ["5m"])
    let full = try parse("--wait=5m", "a")
    #expect(full.value("wait") == "5m" && full.positional == ["a"])
    #expect(throws: Failure.self) { try parse("--wait", "--wait=5m") }
  }

  @Test func nothingIsAnOptionAfterTheDashes() throws {
    let arguments = try parse("--json", "--", "--json", "-o", "--")
    #expect(arguments.positional == ["--json", "-o", "--"])
  }

  @Test func aValueMayBeginWithAnAccent() throws {
    #expect(try parse("--lock-after=\u{301}a").value("lock-after") == "\u{301}a")
    #expect(try parse("-o\u{301}", "-o=\u{301}").all("o") == ["\u{301}", "=\u{301}"])
    #expect(throws: Failure.self) { try parse("-\u{301}") }
    #expect("a,\u{301}b,,c".parts(between: ",") == ["a", "\u{301}b", "c"])
  }

  @Test func aDashAloneIsAPath() throws {
    #expect(try parse("-").positional == ["-"])
  }

  @Test(
    arguments: [
      ["--unknown"], ["-x"], ["--jso"], ["--json=yes"], ["--lock-after"], ["-o"],
      ["--lock-after", "1m", "--lock-after", "2m"],
    ])
  func whatIsWrongIsRefused(words: [String]) {
    #expect {
      try Arguments(parsing: words, options: Self.options)
    } throws: { ($0 as? Failure)?.code == .usage }
  }
}

/// Times as people write them.
@Suite struct DurationTests {
  @Test(
    arguments: [
      ("90s", 90), ("90", 90), ("15m", 900), ("2h", 7200), ("1d", 86400), ("366d", 31_622_400),
    ])
  func units(text: String, seconds: UInt64) throws {
    #expect(try Duration.seconds(text) == seconds)
  }

  @Test func neverIsNoNumber() throws { #expect(try Duration.seconds("never") == nil) }

  @Test(
    arguments: [
      "", "0", "0m", "m", "-1", "+5", "1.5h", "5 m", "15min", "367d", "99999999999999999999",
      "18446744073709551615d", "٣m",
    ])
  func nonsenseIsRefused(text: String) {
    #expect(throws: Failure.self) { try Duration.seconds(text) }
  }

  @Test(arguments: [1, 59, 60, 61, 900, 3600, 5400, 86400, 90000] as [UInt64])
  func whatIsPrintedCanBeRead(seconds: UInt64) throws {
    #expect(try Duration.seconds(Duration.text(seconds)) == seconds)
  }
}
