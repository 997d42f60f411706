import Foundation
import Testing

/// Nobody but its owner locks a mount or asks about it, whatever he knows of the socket.
@Suite(
  .serialized, .enabled(if: Command.canMount, "no /dev/fuse, fusermount3 or built command"),
  .enabled(if: Command.isRoot && Command.has("python3"), "only root becomes another user"))
struct StrangerTests {
  private func ask(_ vault: Mounted, _ user: Int, _ script: String = ":") throws -> String {
    let outcome = try vault.sh(
      """
      \(script)
      /usr/bin/python3 '\(Command.checks)/stranger.py' '\(try vault.socket())' \(user)
      """, in: vault.scratch)
    return outcome.output
  }

  @Test func theFolderKeepsStrangersOut() throws {
    let vault = try Mounted()
    let answers = try ask(vault, 65534, "chmod 755 .")
    #expect(answers == "status no way in\nlock no way in\nverify no way in\njournal no way in\n")
    let owner = try ask(vault, 0)
    #expect(owner.hasPrefix("status mount "), "\(owner)")
  }

  /// As if the owner had opened folder and socket to everybody.
  @Test func whoGetsThroughIsNotHeard() throws {
    let vault = try Mounted()
    let daemon = try vault.daemon()
    let answers = try ask(vault, 65534, "chmod 755 . coffre; chmod 777 coffre/*.sock")
    #expect(answers == "status nothing\nlock nothing\nverify nothing\njournal nothing\n")
    #expect(vault.isMounted(vault.mount))
    #expect(FileManager.default.fileExists(atPath: "/proc/\(daemon)"))
    try vault.sh("chmod 700 coffre", in: vault.scratch)
    try vault.lock()
  }
}
