import Testing

/// What goes wrong while a vault is mounted is told, though its process has no terminal.
@Suite(.serialized, .enabled(if: Command.canMount, "no /dev/fuse, fusermount3 or built command"))
struct ProblemTests {
  @Test func statusTellsThatAnOlderCopyWouldGoUnnoticed() throws {
    let vault = try Mounted(mounting: false)
    let outcome = try vault.sh(
      """
      XDG_STATE_HOME=/proc/none "$COFFRE" mount --password-file password vault mount
      "$COFFRE" status
      "$COFFRE" status --json
      """, in: vault.scratch)
    #expect(outcome.output.contains("\n  problem: the state folder"), "\(outcome.output)")
    #expect(outcome.output.contains("\"problems\": [\"the state folder"), "\(outcome.output)")
  }

  @Test func aVaultWithoutAProblemHasNone() throws {
    let vault = try Mounted()
    let output = try vault.coffre(["status", "--json"]).output
    #expect(output.contains("\"problems\": []"), "\(output)")
  }

  /// Its pages could not be written back: the program that goes on to write hears of it, and not
  /// only when it closes the file.
  @Test(.enabled(if: Command.has("python3"))) func theNextWriteAfterAFailedOneIsRefused() throws {
    let vault = try Mounted()
    let outcome = try vault.sh(
      """
      trap "rm -f vault/data; mv data vault/data" EXIT
      /usr/bin/python3 '\(Command.checks)/write_on.py' mount/file \
        'mv vault/data data && touch vault/data'
      """, in: vault.scratch)
    #expect(outcome.status == 0, "\(outcome.output)")
    _ = try vault.coffre(["lock", vault.vault])
  }
}
