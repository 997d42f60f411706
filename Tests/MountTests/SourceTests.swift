import Foundation
import POSIX
import Testing

/// Passwords from descriptors, commands and files, by the command itself; and where they never get.
@Suite(.serialized, .enabled(if: Command.canMount, "no /dev/fuse, fusermount3 or built command"))
struct SourceTests {
  /// Runs a script in the folder of `vault`, `mount` and `password`.
  private func expectWorks(_ vault: Mounted, _ script: String) throws {
    let outcome = try vault.sh(script, in: vault.scratch)
    #expect(outcome.status == 0, "\(outcome.output)")
  }

  @Test func everySourceGivesThePassword() throws {
    let vault = try Mounted(mounting: false)
    try expectWorks(
      vault,
      """
      "$COFFRE" init new --password-fd 5 5< password
      "$COFFRE" mount new mount --password-fd 0 < password
      "$COFFRE" lock new
      cat password | "$COFFRE" mount new mount --password-fd 0
      "$COFFRE" lock new
      "$COFFRE" mount new mount --password-command 'cat password'
      "$COFFRE" lock new
      status=0
      "$COFFRE" mount new mount --password-fd 9 9<&- 2> errors || status=$?
      test $status = 16 && grep -q 'descriptor 9' errors
      """)
  }

  /// Of a vault that is not mounted, and of one that is; the old one opens nothing afterwards.
  @Test func passwdTakesTheNewPasswordFromEverySource() throws {
    let vault = try Mounted(mounting: false)
    try expectWorks(
      vault,
      """
      for name in two three four; do echo "password $name" > $name; done
      opens() {
        status=0
        "$COFFRE" mount vault mount --password-file $1 2> errors || status=$?
        test $status != 0 || "$COFFRE" lock vault
        return $status
      }
      "$COFFRE" passwd vault --password-fd 3 --new-password-fd 4 3< password 4< two
      opens two
      if opens password; then exit 1; fi
      grep -q 'does not open' errors && test $status = 3
      "$COFFRE" mount vault mount --password-file two
      "$COFFRE" passwd vault --password-command 'cat two' --new-password-command 'cat three'
      # A new password that can't be had changes nothing; a wrong old one neither.
      status=0
      "$COFFRE" passwd vault --password-file three --new-password-command false || status=$?
      test $status = 16
      status=0
      "$COFFRE" passwd vault --password-file two --new-password-file four || status=$?
      test $status = 3
      "$COFFRE" lock vault
      opens three
      """)
  }

  /// While it is asked for, tried, and in use: in no argument, no environment, no file of ours.
  @Test func thePasswordIsSeenNowhere() throws {
    let vault = try Mounted(mounting: false)
    let secret = "secret-" + UUID().uuidString
    // The script must not name it: that would be an argument of the shell.
    try (secret + "\n").write(
      toFile: vault.scratch + "/secret", atomically: true, encoding: .utf8)
    try expectWorks(
      vault,
      """
      look() {
        for process in /proc/[0-9]*; do
          for file in cmdline environ; do
            ! grep -qaF -f secret $process/$file 2>/dev/null || { echo "in $process"; exit 1; }
          done
        done
      }
      "$COFFRE" init new --password-file secret > log 2>&1
      "$COFFRE" mount new mount --password-command 'cat secret; sleep 0.3' >> log 2>&1 &
      mounting=$!
      for i in $(seq 4); do look; sleep 0.1; done
      wait $mounting
      look
      for process in $("$COFFRE" status --json | grep -o '"process": [0-9]*' | cut -d ' ' -f 2); do
        tr '\\0' ' ' < /proc/$process/cmdline | grep -q 'coffre __daemon'
        test -r /proc/$process/environ
      done
      "$COFFRE" status >> log && "$COFFRE" info new >> log
      if "$COFFRE" mount new mount --password-file secret >> log 2>&1; then exit 1; fi
      "$COFFRE" passwd new --password-file secret --new-password-file secret >> log 2>&1
      "$COFFRE" lock new >> log 2>&1
      test -s log
      # Found in the file itself, so that a search that finds nothing is no accident.
      test "$(grep -rlaF -f secret .)" = ./secret
      """)
  }
}
