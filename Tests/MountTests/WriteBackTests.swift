import Testing

/// What a lock can no longer write is told to whoever locks, not only to the program that wrote.
@Suite(.serialized, .enabled(if: Command.canMount && Command.has("python3")))
struct WriteBackTests {
  private static let sentence = "the last changes could not all be written"

  /// Takes the vault's folder of contents away, leaves pages with the kernel, and ends the mount.
  private static func losing(_ vault: Mounted, _ end: String) -> String {
    """
    holder=
    putBack() {
      test -z "$holder" || kill $holder 2>/dev/null || true
      rm -f '\(vault.vault)/data'
      mv '\(vault.scratch)/data' '\(vault.vault)/data'
    }
    trap putBack EXIT
    mv '\(vault.vault)/data' '\(vault.scratch)/data'
    touch '\(vault.vault)/data'
    mkfifo '\(vault.scratch)/written' '\(vault.scratch)/ended'
    /usr/bin/python3 '\(Command.checks)/hold.py' '\(vault.mount)/file' \
      '\(vault.scratch)/written' '\(vault.scratch)/ended' &
    holder=$!
    timeout 20 cat '\(vault.scratch)/written'
    status=0
    \(end) || status=$?
    timeout 20 tee '\(vault.scratch)/ended' < /dev/null || true
    exit $status
    """
  }

  @Test func lockTellsOfPagesItCouldNotWriteBack() throws {
    let vault = try Mounted()
    let outcome = try vault.sh(
      Self.losing(vault, "\"$COFFRE\" lock --force '\(vault.vault)'"), in: "/")
    #expect(outcome.status == 17, "\(outcome.output)")
    #expect(outcome.output.contains(Self.sentence), "\(outcome.output)")
    // Not so the next time.
    try vault.open()
    try vault.check("echo more > other")
    try vault.lock()
  }

  @Test func aSignalEndsWithTheSame() throws {
    let vault = try Mounted(mounting: false)
    let outcome = try vault.sh(
      """
      "$COFFRE" mount --foreground --password-file '\(vault.password)' \
        '\(vault.vault)' '\(vault.mount)' &
      daemon=$!
      for i in $(seq 100); do mountpoint -q '\(vault.mount)' && break; sleep 0.1; done
      \(Self.losing(vault, "{ kill -TERM $daemon; wait $daemon; }"))
      """, in: "/")
    #expect(outcome.status == 17, "\(outcome.output)")
    #expect(outcome.output.contains(Self.sentence), "\(outcome.output)")
  }
}
