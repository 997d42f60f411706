import Foundation
import POSIX
import Testing

/// How a mount ends, and how it is separate from whoever started it.
@Suite(.serialized, .enabled(if: Command.canMount, "no /dev/fuse, fusermount3 or built command"))
struct EndTests {
  /// Nothing is synced before: what was written is with the kernel alone.
  private static let write = "seq 30000 > '%'/file && mkdir '%'/folder && mv '%'/file '%'/folder"

  private func expectWritten(_ vault: Mounted) throws {
    try vault.open()
    try vault.check("test \"$(seq 30000 | cksum)\" = \"$(cksum < folder/file)\"")
    try vault.lock()
  }

  @Test(arguments: ["TERM", "INT", "HUP", "USR1"])
  func aSignalLocksAndTheExitIsZero(signal: String) throws {
    let vault = try Mounted(mounting: false)
    // Python, since a shell has SIGINT ignored in what it starts in the background.
    let outcome = try vault.sh(
      """
      python3 - "$COFFRE" \(signal) <<'END'
      import os, signal, subprocess, sys, time
      process = subprocess.Popen([
        sys.argv[1], "mount", "--foreground", "--password-file", "password", "vault", "mount"])
      deadline = time.time() + 60
      while not os.path.ismount("mount"):
        assert process.poll() is None and time.time() < deadline
        time.sleep(0.02)
      held = open("mount/held", "w")
      subprocess.run(["sh", "-euc", "\(Self.write.replacing("%", with: "mount"))"], check=True)
      process.send_signal(getattr(signal, "SIG" + sys.argv[2]))
      assert process.wait(60) == 0, process.returncode
      END
      """, in: vault.scratch)
    #expect(outcome.status == 0, "\(outcome.output)")
    #expect(!vault.isMounted(vault.mount))
    try expectWritten(vault)
  }

  @Test func aSignalToTheProcessInTheBackground() throws {
    let vault = try Mounted()
    let daemon = try vault.daemon()
    let outcome = try vault.sh(
      """
      \(Self.write.replacing("%", with: vault.mount))
      kill -HUP \(daemon)
      for i in $(seq 600); do test -e /proc/\(daemon) || exit 0; sleep 0.1; done
      exit 1
      """, in: "/")
    #expect(outcome.status == 0, "\(outcome.output)")
    #expect(!vault.isMounted(vault.mount))
    try expectWritten(vault)
  }

  /// The process that watches the daemon takes the dead mount away, or is dead as well.
  @Test(arguments: [false, true]) func oneCommandIsEnoughAfterAKill(ofBoth: Bool) throws {
    let vault = try Mounted()
    try vault.check("echo kept > file && sync file")
    let daemon = try vault.daemon()
    let outcome = try vault.sh(
      """
      watcher=$(sed -n 's/^PPid:[[:space:]]*//p' /proc/\(daemon)/status)
      \(ofBoth ? "kill -9 $watcher" : "")
      kill -9 \(daemon)
      "$COFFRE" mount '\(vault.vault)' '\(vault.mount)' --password-file '\(vault.password)'
      grep -c ' \(vault.mount) ' /proc/self/mountinfo
      """, in: "/")
    #expect(outcome.status == 0 && outcome.output.hasSuffix("1\n"), "\(outcome.output)")
    try vault.check("test \"$(cat file)\" = kept")
    try vault.lock()
  }

  /// The daemon and its watcher: in no folder, at no terminal, with no pipe of their starter.
  @Test(.enabled(if: Command.has("script"), "script(1) makes a terminal"))
  func nothingTiesTheDaemonToItsStarter() throws {
    let vault = try Mounted(mounting: false)
    let outcome = try vault.sh(
      """
      script -qec '"$COFFRE" mount vault mount --password-file password' /dev/null
      """, in: vault.scratch)
    try #require(outcome.status == 0, "\(outcome.output)")
    let daemon = try vault.daemon()
    let looked = try vault.sh(
      """
      watcher=$(sed -n 's/^PPid:[[:space:]]*//p' /proc/\(daemon)/status)
      for process in \(daemon) $watcher; do
        test "$(readlink /proc/$process/cwd)" = / || { echo "$process is in a folder"; exit 1; }
        for fd in 0 1 2; do
          test "$(readlink /proc/$process/fd/$fd)" = /dev/null || { echo "descriptor $fd"; exit 1; }
        done
        if readlink /proc/$process/fd/* | grep -E 'pts|tty'; then exit 1; fi
        test "$(cut -d ' ' -f 7 /proc/$process/stat)" = 0 || { echo "a terminal"; exit 1; }
      done
      """, in: "/")
    #expect(looked.status == 0, "\(looked.output)")
    #expect(vault.isMounted(vault.mount))
    try vault.lock()
  }

  /// Ctrl-S at its terminal, before it says anything or after: neither the mount nor a lock waits.
  @Test(.enabled(if: Command.has("python3")), arguments: ["before", "after"])
  func aTerminalThatIsHeldHoldsNothing(when: String) throws {
    let vault = try Mounted(mounting: false)
    let outcome = try vault.sh(
      """
      /usr/bin/python3 - "$COFFRE" \(when) <<'END'
      import os, pty, subprocess, sys, termios, time
      master, slave = pty.openpty()
      if sys.argv[2] == "before":
          termios.tcflow(slave, termios.TCOOFF)
      process = subprocess.Popen(
        [sys.argv[1], "mount", "--foreground", "--password-file", "password", "vault", "mount"],
        stderr=slave)
      deadline = time.time() + 60
      while not os.path.ismount("mount"):
          assert process.poll() is None and time.time() < deadline
          time.sleep(0.02)
      if sys.argv[2] == "after":
          text = b""
          while b"mounted" not in text:
              text += os.read(master, 1000)
          termios.tcflow(slave, termios.TCOOFF)
      subprocess.run(["sh", "-euc", "seq 30000 > mount/file"], check=True, timeout=30)
      try:
          subprocess.run([sys.argv[1], "lock", "vault"], check=True, timeout=30)
          assert process.wait(30) == 0, process.returncode
      finally:
          process.kill()
      END
      test "$(ls mount)" = ""
      """, in: vault.scratch)
    #expect(outcome.status == 0, "\(outcome.output)")
    try vault.open()
    try vault.check("test $(wc -l < file) = 30000")
  }

  @Test func aPipeFromMountEnds() throws {
    let vault = try Mounted(mounting: false)
    let outcome = try vault.sh(
      """
      timeout 60 sh -euc '"$COFFRE" mount vault mount --password-file password 2>&1 | cat'
      mountpoint mount
      """, in: vault.scratch)
    #expect(outcome.status == 0, "\(outcome.output)")
  }
}
