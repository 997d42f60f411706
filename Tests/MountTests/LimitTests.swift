import Foundation
import Testing

/// When a vault locks itself: what counts as use, and the time that no use draws out.
@Suite(
  .serialized, .enabled(if: Command.canMount, "no /dev/fuse, fusermount3 or built command"),
  .enabled(if: Command.has("python3"), "no python3"))
struct LimitTests {
  private func outcome(_ name: String, _ options: [String]) throws -> String {
    let vault = try Mounted(mounting: false)
    try vault.open(options)
    let outcome = try vault.sh(
      "exec /usr/bin/python3 -B '\(Command.checks)/idle.py' \"$COFFRE\" \(name)", in: vault.scratch)
    return outcome.output
  }

  /// At rest, whatever they keep; what they kept is worth nothing afterwards.
  @Test(arguments: ["nothing", "handle", "folder", "mapping", "watcher", "monitor"])
  func whoDoesNothingHoldsNothing(name: String) throws {
    #expect(try outcome(name, ["--lock-after", "3s"]) == "locked idle\n")
  }

  @Test(arguments: ["reader", "mapping-reader"])
  func whoReadsHoldsItOpen(name: String) throws {
    #expect(try outcome(name, ["--lock-after", "3s"]) == "open\n")
  }

  @Test(arguments: ["reader", "mapping-reader", "handle"])
  func noUseDrawsTheLastLimitOut(name: String) throws {
    // The script waits for longer where something is in use.
    let options = ["--lock-after", "never", "--lock-at-most", "4s"]
    #expect(try outcome(name, options) == "locked at-most\n")
  }

  /// No time locks a vault of the other class; its owner does, and a signal.
  @Test func untilFirstUnlock() throws {
    let vault = try Mounted(mounting: false)
    let mount = ["mount", vault.vault, vault.mount, "--password-file", vault.password]
    for limit in ["--lock-after=5m", "--lock-after=never", "--lock-at-most=5m"] {
      let outcome = try vault.coffre(mount + ["--protection", "until-first-unlock", limit])
      #expect(outcome.status == 2 && outcome.output.contains("contradicts"), "\(outcome.output)")
    }
    #expect(try vault.coffre(mount + ["--protection=none"]).status == 2)
    #expect(!vault.isMounted(vault.mount))
    try vault.open(["--protection", "until-first-unlock"])
    let status = try vault.coffre(["status", "--json"]).output
    #expect(status.contains(#""protection": "until-first-unlock""#), "\(status)")
    #expect(status.contains(#""idleSecondsLeft": null"#), "\(status)")
    #expect(try vault.coffre(["status"]).output.contains("protected until-first-unlock"))
    let outcome = try vault.sh(
      """
      kill -USR1 \(vault.daemon())
      while mountpoint -q '\(vault.mount)'; do sleep 0.05; done
      while test -e /proc/\(vault.daemon()); do sleep 0.05; done
      """, in: "/")
    #expect(outcome.status == 0)
    #expect(try vault.coffre(["status"]).output.contains("its process got a signal"))
    try vault.open(["--protection", "until-first-unlock"])
    try vault.lock()
  }

  @Test func statusTellsWhatIsLeft() throws {
    let vault = try Mounted(mounting: false)
    try vault.open(["--lock-after", "10m", "--lock-at-most", "8h"])
    let output = try vault.coffre(["status", "--json"]).output
    let list = try JSONSerialization.jsonObject(with: Data(output.utf8)) as? [[String: Any]]
    let status = try #require(list?.first)
    #expect(status["protection"] as? String == "complete")
    #expect(status["lockAtMostSeconds"] as? Int == 8 * 3600)
    let idle = try #require(status["idleSecondsLeft"] as? Int)
    #expect((500...600).contains(idle))
    let left = try #require(status["atMostSecondsLeft"] as? Int)
    #expect((8 * 3600 - 100...8 * 3600).contains(left))
    let text = try vault.coffre(["status"]).output
    #expect(text.contains("locks itself after 10m without use"), "\(text)")
    #expect(text.contains("at the latest"), "\(text)")
  }

  /// A killed process has said nothing; the next status does.
  @Test func aKillIsTold() throws {
    let vault = try Mounted()
    try vault.kill()
    let output = try vault.coffre(["status"]).output
    #expect(output.contains("its process was killed"), "\(output)")
  }

  @Test(.enabled(if: Command.isRoot, "umount(8) is for root")) func anUnmountIsTold() throws {
    let vault = try Mounted()
    let daemon = try vault.daemon()
    try vault.sh(
      "umount '\(vault.mount)'; while test -e /proc/\(daemon); do sleep 0.05; done", in: "/")
    let output = try vault.coffre(["status"]).output
    #expect(output.contains("it was unmounted without coffre"), "\(output)")
  }
}
