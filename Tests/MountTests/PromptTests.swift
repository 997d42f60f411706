import Testing

/// The password prompts of the command, at a terminal.
@Suite(.serialized, .enabled(if: Command.canMount && Command.has("python3")))
struct PromptTests {
  /// A scenario of Checks/prompt.py, in the folder of `vault`, `mount` and `password`.
  private func expectPass(_ scenario: String) throws {
    let vault = try Mounted(mounting: false)
    let outcome = try vault.sh(
      "/usr/bin/python3 '\(Command.checks)/prompt.py' \"$COFFRE\" \(scenario)", in: vault.scratch)
    #expect(outcome.status == 0, "\(outcome.output)")
  }

  @Test func itIsAskedAgainAfterAStop() throws { try expectPass("stopped new") }

  @Test func anInterruptEndsItAndTheEchoIsBack() throws { try expectPass("interrupted new") }

  @Test func twoThatDifferMakeNoVault() throws { try expectPass("different new") }

  @Test func passwdAsksForBoth() throws { try expectPass("changed vault mount password") }
}
