import Foundation
import Testing

/// What others get wrong, each as a named check: Tests/MountTests/Checks has files of them, by
/// subject, with one function for each.
@Suite(.serialized, .enabled(if: Command.canMount && Command.has("python3")))
struct PosixTests {
  static let files = ["posix", "opening", "content", "sharing", "listing"]
  /// Those that make files of several users.
  static let filesForRoot = ["posix", "access"]

  /// Runs the checks of a file whose names have one of the prefixes; it names those that fail.
  private func expectPass(_ file: String, _ prefixes: String, _ vault: Mounted, in folder: String)
    throws
  {
    let outcome = try vault.sh(
      "/usr/bin/python3 -B '\(Command.checks)/\(file).py' \(prefixes)", in: folder)
    #expect(outcome.status == 0, "\(file) in \(folder): \(outcome.output)")
  }

  @Test func everyCheckPasses() throws {
    let vault = try Mounted()
    for file in Self.files { try expectPass(file, "check_ own_check_", vault, in: vault.mount) }
  }

  @Test(.enabled(if: Command.isRoot, "files of several users are for root"))
  func everyCheckForRootPasses() throws {
    let vault = try Mounted(mounting: false)
    try vault.open(["--allow-other", "-o", "suid"])
    for file in Self.filesForRoot {
      try expectPass(file, "root_check_ own_root_check_", vault, in: vault.mount)
    }
  }

  /// The same checks on the host's own filesystem: a check that fails there is wrong itself.
  @Test func everyCheckPassesOnTheHost() throws {
    let vault = try Mounted(mounting: false)
    let folder = try vault.makeFolder("host")
    for file in Self.files { try expectPass(file, "check_", vault, in: folder) }
    guard Command.isRoot else { return }
    for file in Self.filesForRoot { try expectPass(file, "root_check_", vault, in: folder) }
  }
}
