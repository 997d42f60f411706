import Foundation
import Testing

/// A person who locks a vault that programs use hears of them first.
@Suite(.serialized, .enabled(if: Command.canMount, "no /dev/fuse, fusermount3 or built command"))
struct HolderTests {
  private static let isSoak = ProcessInfo.processInfo.environment["COFFRE_SOAK"] == "1"

  /// Starts a program that keeps something, runs a script, and ends it.
  private func holding(_ vault: Mounted, _ what: String, _ script: String) throws -> Outcome {
    try vault.sh(
      """
      seq 1000 > mount/secret
      \(what) &
      holder=$!
      trap 'kill $holder 2>/dev/null || true' EXIT
      sleep 0.5
      status=0
      \(script)
      """, in: vault.scratch)
  }

  private static let kinds = [
    ("sleep 60 < mount/secret", "open"),
    ("env -C mount sleep 60", "working folder"),
    (
      "/usr/bin/python3 -B '\(Command.checks)/mapping.py' mount/secret", "mapped"
    ),
  ]

  @Test(arguments: kinds) func whoKeepsSomethingIsNamed(what: String, kind: String) throws {
    let vault = try Mounted()
    let outcome = try holding(
      vault, what,
      """
      "$COFFRE" lock vault || status=$?
      mountpoint -q mount
      echo "holder $holder"
      "$COFFRE" status
      "$COFFRE" status --json
      "$COFFRE" lock --force vault
      exit $status
      """)
    #expect(outcome.status == 25, "\(outcome.output)")
    let holder = try #require(try /holder (\d+)/.firstMatch(in: outcome.output)?.1)
    let lines = outcome.output.split(separator: "\n")
    let named = lines.first { $0.hasPrefix("coffre: process \(holder) (") }
    #expect(named?.hasSuffix("): \(kind)") == true, "\(outcome.output)")
    #expect(outcome.output.contains("error: a program uses the vault"), "\(outcome.output)")
    #expect(outcome.output.contains("--force"), "\(outcome.output)")
    #expect(lines.contains { $0.hasPrefix("  used by process \(holder) (") }, "\(outcome.output)")
    #expect(outcome.output.contains("\"holders\": [{\"process\": \(holder),"))
    // No terminal, no name from inside.
    #expect(!outcome.output.contains("secret"), "\(outcome.output)")
    #expect(!vault.isMounted(vault.mount))
  }

  /// As in a container: it sees the mount at another place, and is seen.
  @Test(.enabled(if: Command.isRoot && Command.has("unshare"), "unshare(1) is for root"))
  func whoIsInAnotherNamespaceIsNamed() throws {
    let vault = try Mounted()
    let other = try vault.makeFolder("other")
    let outcome = try holding(
      vault,
      "unshare --mount --propagation private "
        + "sh -euc 'mount --bind mount \"$0\"; cd \"$0\"; exec sleep 60' '\(other)'",
      """
      "$COFFRE" lock vault || status=$?
      mountpoint -q mount
      exit $status
      """)
    #expect(outcome.status == 25, "\(outcome.output)")
    #expect(outcome.output.contains(" (sleep): working folder"), "\(outcome.output)")
  }

  @Test(.enabled(if: Command.has("script"), "script(1) makes a terminal"))
  func pathsAreForTheTerminal() throws {
    let vault = try Mounted()
    let outcome = try holding(
      vault, "sleep 60 < mount/secret",
      "script -qec '\"$COFFRE\" lock vault' /dev/null || status=$?; exit $status")
    #expect(outcome.status == 25, "\(outcome.output)")
    #expect(outcome.output.contains("open \(vault.mount)/secret"), "\(outcome.output)")
  }

  @Test(.enabled(if: Command.has("python3"))) func whoOnlyWatchesHoldsNothing() throws {
    let vault = try Mounted()
    let watch = "c.inotify_add_watch(c.inotify_init1(0), b'mount/secret', 4095)"
    let outcome = try holding(
      vault,
      "/usr/bin/python3 -c \"import ctypes, time; c = ctypes.CDLL(None); \(watch); time.sleep(9)\"",
      "\"$COFFRE\" lock vault")
    #expect(outcome.status == 0, "\(outcome.output)")
  }

  @Test func waitingEndsWithTheProgramOrTheTime() throws {
    let vault = try Mounted()
    let outcome = try holding(
      vault, "sleep 3 < mount/secret",
      """
      "$COFFRE" lock --wait=1s vault || status=$?
      test $status = 25
      mountpoint -q mount
      "$COFFRE" lock --wait vault
      if mountpoint -q mount; then exit 1; fi
      """)
    #expect(outcome.status == 0, "\(outcome.output)")
    try vault.open()
    let forced = try holding(
      vault, "sleep 60 < mount/secret", "\"$COFFRE\" lock --wait=1s --force vault")
    #expect(forced.status == 0, "\(forced.output)")
    #expect(!vault.isMounted(vault.mount))
  }

  /// Locked by something else, there is nothing to wait for, though the program is still there.
  @Test func waitingEndsWithAnotherLock() throws {
    let vault = try Mounted()
    let outcome = try holding(
      vault, "sleep 60 < mount/secret",
      """
      { sleep 1; "$COFFRE" lock --force vault; } &
      timeout 30 "$COFFRE" lock --wait vault
      """)
    #expect(outcome.status == 0, "\(outcome.output)")
  }

  /// One that is refused keeps the others from nothing.
  @Test func allAreLocked() throws {
    let vault = try Mounted()
    let other = try vault.makeFolder("other")
    let outcome = try holding(
      vault, "sleep 60 < mount/secret",
      """
      "$COFFRE" init second --password-file password
      "$COFFRE" mount second other --password-file password
      "$COFFRE" lock --all || status=$?
      test $status = 25
      if mountpoint -q other; then echo 'other is open'; exit 1; fi
      mountpoint -q mount
      "$COFFRE" lock --all --force
      if mountpoint -q mount; then echo 'mount is open'; exit 1; fi
      "$COFFRE" lock --all
      """)
    #expect(outcome.status == 0, "\(outcome.output)")
    #expect(!vault.isMounted(other))
    #expect(try vault.coffre(["lock"]).status == 2)
    #expect(try vault.coffre(["lock", "--all", vault.vault]).status == 2)
  }

  /// Whichever of the two is looked at first.
  @Test(arguments: ["head", "tail"]) func oneThatIsWaitedForKeepsNoOtherOpen(held: String) throws {
    let vault = try Mounted()
    let other = try vault.makeFolder("other")
    let outcome = try vault.sh(
      """
      "$COFFRE" init second --password-file password
      "$COFFRE" mount second other --password-file password
      "$COFFRE" status | sed -n 's/^[^ ].* on //p' > both
      test $(wc -l < both) = 2
      held=$(\(held) -n 1 both)
      free=$(grep -vxF "$held" both)
      env -C "$held" sleep 60 &
      holder=$!
      trap 'kill $holder 2>/dev/null || true' EXIT
      sleep 0.5
      "$COFFRE" lock --all --wait=60s &
      waiting=$!
      for i in $(seq 100); do mountpoint -q "$free" || break; sleep 0.1; done
      if mountpoint -q "$free"; then echo "$free is open"; exit 1; fi
      mountpoint -q "$held"
      kill $holder
      wait $waiting
      if mountpoint -q "$held"; then echo "$held is open"; exit 1; fi
      """, in: vault.scratch)
    #expect(outcome.status == 0, "\(outcome.output)")
    #expect(!vault.isMounted(other) && !vault.isMounted(vault.mount))
  }

  /// Programs that write, rename, map and read while it is locked again and again.
  @Test(.enabled(if: Command.has("python3"))) func nothingIsLostOrLeftUnderLoad() throws {
    let vault = try Mounted(mounting: false)
    let cycles = Self.isSoak ? 100 : 20
    let outcome = try vault.sh(
      "exec /usr/bin/python3 -B '\(Command.checks)/cycles.py' \"$COFFRE\" \(cycles)",
      in: vault.scratch)
    #expect(outcome.status == 0, "\(outcome.output)")
    #expect(outcome.output.hasPrefix("cycles: \(cycles); told: "), "\(outcome.output)")
    print(outcome.output)
  }
}
