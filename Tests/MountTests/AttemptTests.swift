import Foundation
import Testing

/// Wrong passwords are counted, and shown once to whoever has the right one.
@Suite(.serialized, .enabled(if: Command.canMount, "no /dev/fuse, fusermount3 or built command"))
struct AttemptTests {
  private static let message = "coffre: error: the password does not open this vault\n"

  private func fail(_ vault: Mounted, _ words: [String]) throws {
    let outcome = try vault.coffre(words + ["--password-file", vault.scratch + "/wrong"])
    #expect(outcome.status == 3 && outcome.output == Self.message, "\(outcome.output)")
  }

  @Test func theyAreShownAtTheNextMount() throws {
    let vault = try Mounted(mounting: false)
    try vault.sh("echo 'another password' > wrong", in: vault.scratch)
    try fail(vault, ["mount", vault.vault, vault.mount])
    try fail(vault, ["mount", vault.vault, vault.mount, "--read-only"])
    try fail(vault, ["verify", vault.vault])
    try fail(vault, ["passwd", vault.vault, "--new-password-file", vault.password])
    let mount = ["mount", vault.vault, vault.mount, "--password-file", vault.password]
    let outcome = try vault.coffre(mount)
    #expect(outcome.status == 0)
    #expect(
      outcome.output.contains(
        /warning: 4 failed attempts to open this vault since \d{4}-\d\d-\d\d \d\d:/),
      "\(outcome.output)")
    // One at the mounted vault counts for the next time.
    try fail(vault, ["passwd", vault.vault, "--new-password-file", vault.password])
    try vault.lock()
    let next = try vault.coffre(mount)
    #expect(next.output.contains("1 failed attempt to open this vault, at "), "\(next.output)")
    try vault.lock()
    #expect(try !vault.coffre(mount).output.contains("failed attempt"))
  }

  /// A wrong one is not told any sooner, nor for less memory.
  @Test(.enabled(if: Command.has("python3"), "no python3"))
  func eachCostsThePasswordFunction() throws {
    let vault = try Mounted(mounting: false)
    let outcome = try vault.sh(
      """
      echo 'another password' > wrong
      /usr/bin/python3 - "$COFFRE" <<'END'
      import resource, subprocess, sys
      words = [sys.argv[1], "verify", "vault", "--password-file", "wrong"]
      assert subprocess.run(words, stderr=subprocess.DEVNULL).returncode == 3
      assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss > 64 << 10
      END
      """, in: vault.scratch)
    #expect(outcome.status == 0, "\(outcome.output)")
  }

  /// Not in the vault: who has a copy of it learns nothing, and it is not changed by a guess.
  @Test func theyAreKeptApart() throws {
    let vault = try Mounted(mounting: false)
    let outcome = try vault.sh(
      """
      echo 'another password' > wrong
      find vault -type f | sort | xargs sha256sum > before
      "$COFFRE" mount vault mount --password-file wrong 2>/dev/null && exit 1
      find vault -type f | sort | xargs sha256sum | cmp - before
      test "$(stat -c '%a %F' state/coffre/*.attempts)" = '600 regular file'
      """, in: vault.scratch)
    #expect(outcome.status == 0, "\(outcome.output)")
  }

  /// Whatever is in the file's place.
  @Test(
    arguments: [
      "head -c 300000 /dev/urandom > attempts", "mkfifo attempts", "mkdir attempts",
      "ln -s /dev/zero attempts", "printf '99999999999999999999999\\n-1\\n' > attempts",
      "printf '\\n\\n\\0' > attempts",
    ])
  func rubbishStopsNoMount(script: String) throws {
    let vault = try Mounted(mounting: false)
    let outcome = try vault.sh(
      """
      id=$("$COFFRE" info vault | sed -n 's/^id  *//p')
      mkdir -p state/coffre
      cd state/coffre
      \(script)
      mv attempts $id.attempts
      cd ../..
      echo 'another password' > wrong
      status=0
      timeout 60 "$COFFRE" mount vault mount --password-file wrong 2>/dev/null || status=$?
      test $status = 3
      timeout 60 "$COFFRE" mount vault mount --password-file password
      """, in: vault.scratch)
    #expect(outcome.status == 0, "\(outcome.output)")
  }
}
