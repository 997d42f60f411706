import Foundation
import Testing

/// kill -9 of the daemon at random moments: what was acknowledged is there after the next mount.
///
/// Tests/MountTests/Checks/kill_writers.py has the writers: append and overwrite with fsync, a
/// rename over the old file, SQLite in both modes of its journal, git.
@Suite(
  .serialized, .enabled(if: Command.canMount, "no /dev/fuse, fusermount3 or built command"),
  .enabled(if: Command.has("python3") && Command.has("git"), "no python3 or git"))
struct KillTests {
  private static let isSoak = ProcessInfo.processInfo.environment["COFFRE_SOAK"] == "1"

  @Test func whatWasAcknowledgedIsThere() throws {
    let vault = try Mounted(mounting: false)
    let kills = Self.isSoak ? 200 : 6
    let seed = UInt32.random(in: 0...UInt32.max)
    let outcome = try vault.sh(
      """
      exec /usr/bin/python3 -B '\(Command.checks)/kill.py' "$COFFRE" '\(vault.scratch)' \
        \(kills) \(seed)
      """, in: vault.scratch)
    #expect(outcome.status == 0, "seed \(seed): \(outcome.output)")
    // The last line tells how many there were.
    let summary = outcome.output.split(separator: "\n").last ?? ""
    #expect(summary.hasPrefix("kills: \(kills) "), "seed \(seed): \(outcome.output)")
    print(summary)
  }
}
