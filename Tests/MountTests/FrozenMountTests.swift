import Foundation
import Testing

/// The frozen vaults through the command: they open for ever, and damaged ones are refused with
/// the documented exit code.
@Suite(
  .serialized,
  .enabled(
    if: Command.canMount && Command.has("xz") && Command.has("getfattr"),
    "no /dev/fuse, fusermount3, built command, xz or getfattr"))
struct FrozenMountTests {
  private static let folder = Command.root + "/Tests/FrozenVaults"

  private let vault: Mounted

  init() throws { vault = try Mounted(mounting: false) }

  private func unpack(_ name: String) throws {
    let outcome = try vault.sh(
      "rm -rf vault; tar -xJf '\(Self.folder)/\(name).tar.xz'; mv '\(name)' vault",
      in: vault.scratch)
    try #require(outcome.status == 0, "\(outcome.output)")
  }

  private func mount() throws -> Outcome {
    try vault.coffre(
      [
        "mount", vault.vault, vault.mount, "--password-file", Self.folder + "/password", "-o",
        "nobackupmarker",
      ])
  }

  @Test(arguments: ["locked", "killed"]) func opensForEver(name: String) throws {
    try unpack(name)
    for round in 1...2 {
      let outcome = try mount()
      try #require(outcome.status == 0, "round \(round): \(outcome.output)")
      try vault.check(
        "'\(Self.folder)/list' . | diff - '\(Self.folder)/\(name).listing'")
      try vault.lock()
    }
    let log = try vault.coffre(
      ["journal", vault.vault, "--password-file", Self.folder + "/password"])
    #expect(log.status == 0 && log.output.contains("locked: somebody asked for it"))
  }

  /// A line of `damaged`: exit code, vault, what is done in its folder.
  @Test func damagedOnesAreRefused() throws {
    let lines = try String(contentsOfFile: Self.folder + "/damaged", encoding: .utf8)
      .split(separator: "\n").map { $0.split(separator: "\t").map(String.init) }
    #expect(lines.count >= 8 && lines.allSatisfy { $0.count == 3 })
    for line in lines {
      try unpack(line[1])
      let altered = try vault.sh(line[2] + " 2>/dev/null", in: vault.vault)
      try #require(altered.status == 0, "\(line): \(altered.output)")
      let outcome = try mount()
      #expect(outcome.status == Int32(line[0]), "\(line): \(outcome.output)")
      #expect(outcome.output.contains("error:"), "\(line): \(outcome.output)")
      #expect(!vault.isMounted(vault.mount))
    }
  }
}
