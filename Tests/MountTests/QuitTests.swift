import Testing

/// Ctrl-\ at a mount in the foreground is an end as any other.
@Suite(.serialized, .enabled(if: Command.canMount, "no /dev/fuse, fusermount3 or built command"))
struct QuitTests {
  @Test(.timeLimit(.minutes(2))) func aQuitIsAnOrdinaryEnd() throws {
    let vault = try Mounted(mounting: false)
    let outcome = try vault.sh(
      """
      "$COFFRE" mount --foreground --password-file password vault mount &
      daemon=$!
      for i in $(seq 200); do mountpoint -q mount && break; sleep 0.1; done
      echo kept > mount/file
      kill -QUIT $daemon
      wait $daemon
      ! mountpoint -q mount
      """, in: vault.scratch)
    #expect(outcome.status == 0, "\(outcome.output)")
    try vault.open()
    try vault.check("test \"$(cat file)\" = kept")
  }
}
