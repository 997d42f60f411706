import Foundation
import Testing

/// What others get wrong, each as a named check: Tests/MountTests/Checks/posix.py has one function
/// for each.
@Suite(.serialized, .enabled(if: Command.canMount && Command.has("python3")))
struct PosixTests {
  static let names: [String] = {
    let path = Command.checks + "/posix.py"
    guard let text = try? String(contentsOfFile: path, encoding: .utf8) else { return [] }
    return text.split(separator: "\n").compactMap { line in
      guard line.hasPrefix("def check_") else { return nil }
      return String(line.dropFirst("def check_".count).prefix { $0 != "(" })
    }
  }()

  @Test func everyCheckPasses() throws {
    let vault = try Mounted()
    #expect(Self.names.count > 20)
    for name in Self.names {
      let outcome = try vault.sh("/usr/bin/python3 '\(Command.checks)/posix.py' \(name)")
      #expect(outcome.status == 0, "\(name): \(outcome.output)")
    }
  }

  /// The same checks on the host's own filesystem: a check that fails there is wrong itself.
  @Test func everyCheckPassesOnTheHost() throws {
    let vault = try Mounted(mounting: false)
    let folder = vault.scratch + "/host"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    for name in Self.names {
      let outcome = try vault.sh(
        "/usr/bin/python3 '\(Command.checks)/posix.py' \(name)", in: folder)
      #expect(outcome.status == 0, "\(name): \(outcome.output)")
    }
  }
}
