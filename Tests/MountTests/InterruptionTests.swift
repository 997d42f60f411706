import Foundation
import Testing

/// `init` and `passwd` that are killed at a change of a file that they make; some are tried.
@Suite(
  .serialized, .enabled(if: Command.canMount, "no /dev/fuse, fusermount3 or built command"),
  .enabled(if: Command.has("cc"), "no C compiler"))
struct InterruptionTests {
  /// A shell function: `killed N WORDS...` runs the command until its change number N, and fails if
  /// there are not so many.
  private static let killed = """
    cc -shared -fPIC -o killer.so '\(Command.checks)/killer.c' -ldl
    killed() {
      status=0
      number=$1
      shift
      ( KILL_AT=$number LD_PRELOAD=$PWD/killer.so "$COFFRE" "$@" ) > out 2>&1 || status=$?
      test $status = 137 || { cat out; echo "change $number: $status"; test $status = 0; return 1; }
    }
    """

  @Test func aKilledInitCanBeRunAgain() throws {
    let vault = try Mounted(mounting: false)
    let outcome = try vault.sh(
      """
      \(Self.killed)
      number=1
      while killed $number init new --password-file password; do
        status=0
        "$COFFRE" init new --password-file password 2> errors || status=$?
        # All was made, but for what the first mount tidies up.
        if test $status = 8; then grep -q 'is a vault already' errors; else test $status = 0; fi
        "$COFFRE" mount new mount --password-file password
        echo fine > mount/file
        "$COFFRE" lock new
        test ! -e new/coffre.init
        rm -r new
        number=$((number + 22))
      done
      test $number -gt 40
      """, in: vault.scratch)
    #expect(outcome.status == 0, "\(outcome.output)")
  }

  /// What the kill left does not matter to the next change either.
  @Test func aKilledPasswdLeavesTheOldOrTheNewPassword() throws {
    let vault = try Mounted(mounting: false)
    let outcome = try vault.sh(
      """
      \(Self.killed)
      echo 'one password' > one
      echo 'another password' > another
      "$COFFRE" init new --password-file one
      kept=0 changed=0 number=1
      while killed $number passwd new --password-file one --new-password-file another; do
        status=0
        "$COFFRE" mount new mount --password-file another 2> errors || status=$?
        if test $status = 0; then
          changed=$((changed + 1))
          mv one third && mv another one && mv third another
        else
          test $status = 3
          "$COFFRE" mount new mount --password-file one
          kept=$((kept + 1))
        fi
        "$COFFRE" lock new
        number=$((number + 20))
      done
      # The loop ended with a change that nobody killed.
      "$COFFRE" mount new mount --password-file another
      "$COFFRE" lock new
      echo "kept $kept, changed $changed"
      test $kept -gt 0 && test $changed -gt 0
      """, in: vault.scratch)
    #expect(outcome.status == 0, "\(outcome.output)")
  }
}
