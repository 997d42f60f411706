import Testing

/// The password prompt of the command, at a terminal.
@Suite(.serialized, .enabled(if: Command.canMount && Command.has("python3")))
struct PromptTests {
  @Test func itIsAskedAgainAfterAStop() throws {
    let vault = try Mounted(mounting: false)
    let outcome = try vault.sh(
      "/usr/bin/python3 '\(Command.checks)/prompt.py' \"$COFFRE\" new", in: vault.scratch)
    #expect(outcome.status == 0, "\(outcome.output)")
  }
}
