import Testing

/// How the command refuses: with its own number and sentence, and at no cost.
@Suite(
  .serialized, .enabled(if: Command.canMount, "no /dev/fuse, fusermount3 or built command"),
  .enabled(if: Command.has("python3"), "no python3"))
struct RefusalTests {
  /// A script of Checks, in the folder of `vault`, `mount` and `password`.
  private func expectPass(_ script: String) throws {
    let vault = try Mounted(mounting: false)
    let outcome = try vault.sh(script, in: vault.scratch)
    #expect(outcome.status == 0, "\(outcome.output)")
  }

  /// Also an older vault that is put back, refused, and accepted.
  @Test func everyExitCodeIsSeen() throws {
    try expectPass("sh '\(Command.checks)/codes.sh' '\(Command.checks)'")
  }

  /// Also where it asks for a password function that costs all memory, or hours.
  @Test func aDamagedConfigurationIsToldAtOnce() throws {
    try expectPass("python3 '\(Command.checks)/damage.py' \"$COFFRE\" vault mount password")
  }
}
