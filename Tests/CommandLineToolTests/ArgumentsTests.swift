import CommandLineTool
import Session
import Testing

@Suite struct ArgumentsTests {
  private static let options = [
    Option("json", "a switch"), Option("file", value: "F", "a value"),
    Option("o", value: "O", "a value, often"),
  ]

  private func parse(_ line: String) throws(Failure) -> Arguments {
    let words = line.split(separator: " ", omittingEmptySubsequences: false).map { String($0) }
    return try Arguments(parsing: words, options: Self.options)
  }

  @Test(arguments: ["--file a b", "--file=a b", "b --file a", "b --file=a", "--file a -- b"])
  func aValueIsTheNextWordOrBehindAnEqualsSign(line: String) throws {
    let arguments = try parse(line)
    #expect(arguments.value("file") == "a")
    #expect(arguments.positional == ["b"])
  }

  @Test func aValueIsTakenAsItIs() throws {
    #expect(try parse("--file --json").value("file") == "--json")
    #expect(try !parse("--file --json").has("json"))
    #expect(try parse("--file=a=b").value("file") == "a=b")
    #expect(try parse("--file=").value("file") == "")
  }

  @Test func oneLetterOptionsAddUp() throws {
    #expect(try parse("-o a -ob -o c,d").all("o") == ["a", "b", "c,d"])
  }

  @Test func afterTwoDashesNothingIsAnOption() throws {
    let arguments = try parse("--json -- --file - --")
    #expect(arguments.has("json"))
    #expect(arguments.positional == ["--file", "-", "--"])
  }

  @Test(arguments: [
    "--other", "--other=a", "-j", "-x", "--file", "-o", "--json=yes", "--file a --file b", "--jso",
  ])
  func whatIsNotUnderstoodIsRefused(line: String) {
    #expect { try parse(line) } throws: { ($0 as? Failure)?.code == .usage }
  }
}

@Suite struct DurationTests {
  @Test(
    arguments: [
      ("15m", 900), ("90s", 90), ("90", 90), ("2h", 7200), ("1d", 86400), ("366d", 31_622_400),
    ] as [(String, UInt64)])
  func aDurationHasAUnit(text: String, seconds: UInt64) throws {
    #expect(try Duration.seconds(text) == seconds)
  }

  @Test func neverIsNoDuration() throws { #expect(try Duration.seconds("never") == nil) }

  @Test(arguments: [
    "", "m", "0", "0m", "-1m", "+1m", "1.5h", "15 m", "m15", "15M", "15min", "367d", "１５m",
    "99999999999999999999s", "18446744073709551615d", "Never",
  ])
  func anythingElseIsRefused(text: String) {
    #expect { try Duration.seconds(text) } throws: { ($0 as? Failure)?.code == .usage }
  }

  @Test(arguments: [1, 59, 60, 61, 3600, 5400, 86400, 90000] as [UInt64])
  func theTextOfADurationIsReadBack(seconds: UInt64) throws {
    #expect(try Duration.seconds(Duration.text(seconds)) == seconds)
  }
}
