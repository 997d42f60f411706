import Bytes
import CommandLineTool
import POSIX
import Session
import Testing

/// What the program says of itself is all there.
@Suite struct HelpTests {
  @Test(arguments: ExitCode.allCases)
  func everyExitCodeIsExplained(code: ExitCode) {
    let lines = Help.exitCodes.split(separator: "\n")
    #expect(lines.contains { $0.hasPrefix("  \(code.rawValue) ") && $0.hasSuffix(code.meaning) })
  }

  @Test func exitCodesNeverChange() {
    #expect(ExitCode.allCases.map(\.rawValue) == [0] + Array(2...27))
    #expect(ExitCode.wrongPassword.rawValue == 3 && ExitCode.damagedConfiguration.rawValue == 4)
    #expect(ExitCode.busy.rawValue == 19 && ExitCode.damagedJournal.rawValue == 20)
    #expect(ExitCode.damageFound.rawValue == 21 && ExitCode.damageRepaired.rawValue == 22)
    #expect(ExitCode.notChecked.rawValue == 23 && ExitCode.noSuchPath.rawValue == 24)
    #expect(ExitCode.held.rawValue == 25)
    #expect(ExitCode.exists.rawValue == 26 && ExitCode.incomplete.rawValue == 27)
  }

  @Test(
    arguments: [
      "init", "mount", "lock", "status", "info", "verify", "passwd", "backup-policy", "journal",
      "ls", "cat", "get", "put", "mkdir", "mv", "rm", "help",
    ])
  func everyVerbIsExplained(name: String) throws {
    let verb = try #require(Verb.named(name))
    #expect(Help.overview.contains("  \(name)"))
    let text = Help.of(verb)
    for option in verb.options { #expect(text.contains(option.spelling)) }
    for line in text.split(separator: "\n") { #expect(line.count <= 100) }
  }

  /// The manual page is written by hand: nothing may be missing there.
  @Test func theManualHasEverything() throws {
    let page = String(
      decoding: try System.readFile(manualPath, limit: 1 << 20), as: UTF8.self
    ).replacing("\\-", with: "-")
    for code in ExitCode.allCases { #expect(page.contains("\(code.rawValue)\t\(code.meaning)")) }
    for verb in Verb.all {
      #expect(page.contains("coffre \(verb.name)"))
      for option in verb.options { #expect(page.contains(option.spelling), "\(option.spelling)") }
    }
    #expect(page.contains("coffre \(Tool.version)"))
  }

  private var manualPath: String {
    #filePath.split(separator: "/").dropLast(3).map { "/" + $0 }.joined() + "/docs/coffre.1"
  }
}
