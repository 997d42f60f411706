import Foundation
import Testing

/// What others get wrong, each as a named check: Tests/MountTests/Checks/posix.py has one function
/// for each.
@Suite(.serialized, .enabled(if: Command.canMount && Command.has("python3")))
struct PosixTests {
  private static func names(_ prefix: String) -> [String] {
    let path = Command.checks + "/posix.py"
    guard let text = try? String(contentsOfFile: path, encoding: .utf8) else { return [] }
    return text.split(separator: "\n").compactMap { line in
      guard line.hasPrefix("def \(prefix)") else { return nil }
      return String(line.dropFirst("def ".count).prefix { $0 != "(" })
    }
  }

  static let names = names("check_")
  /// Those that make files of several users.
  static let namesForRoot = names("root_check_")

  private func expectPass(_ names: [String], _ vault: Mounted, in folder: String) throws {
    for name in names {
      let outcome = try vault.sh(
        "/usr/bin/python3 '\(Command.checks)/posix.py' \(name)", in: folder)
      #expect(outcome.status == 0, "\(name): \(outcome.output)")
    }
  }

  @Test func everyCheckPasses() throws {
    let vault = try Mounted()
    #expect(Self.names.count > 20)
    try expectPass(Self.names, vault, in: vault.mount)
  }

  @Test(.enabled(if: Command.isRoot, "files of several users are for root"))
  func everyCheckForRootPasses() throws {
    let vault = try Mounted(mounting: false)
    try vault.open(["--allow-other", "-o", "suid"])
    #expect(!Self.namesForRoot.isEmpty)
    try expectPass(Self.namesForRoot, vault, in: vault.mount)
  }

  /// The same checks on the host's own filesystem: a check that fails there is wrong itself.
  @Test func everyCheckPassesOnTheHost() throws {
    let vault = try Mounted(mounting: false)
    let folder = try vault.makeFolder("host")
    try expectPass(Self.names, vault, in: folder)
    if Command.isRoot { try expectPass(Self.namesForRoot, vault, in: folder) }
  }
}
