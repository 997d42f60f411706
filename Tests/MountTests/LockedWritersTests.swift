import Testing

/// What write(2) took before a lock is in the vault after it.
@Suite(.serialized, .enabled(if: Command.canMount && Command.has("python3")))
struct LockedWritersTests {
  /// While the lock walks through what the kernel knows, a program goes on to write.
  @Test(.timeLimit(.minutes(3))) func whatAProgramWroteDuringTheLockIsThere() throws {
    let vault = try Mounted()
    try vault.check("seq -f f%g 3000 | xargs touch && ls -l > /dev/null")
    let outcome = try vault.sh(
      """
      /usr/bin/python3 '\(Command.checks)/append.py' mount started count &
      writer=$!
      for i in $(seq 200); do test -e started && break; sleep 0.1; done
      sleep 1
      timeout 150 "$COFFRE" lock --force vault
      wait $writer
      """, in: vault.scratch)
    #expect(outcome.status == 0, "\(outcome.output)")
    try vault.open()
    let kept = try vault.sh("cat log* | tr -d ' ' | sort -n -u | wc -l").output
    let taken = try vault.sh("cat count", in: vault.scratch).output
    #expect(Int(taken) ?? 0 >= 100)
    #expect(kept == taken + "\n")
  }
}
