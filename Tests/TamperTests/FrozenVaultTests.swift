import Bytes
import Crypto
import Disk
import Engine
import Format
import POSIX
import TestKit
import Testing

@testable import Vault
@testable import Volume

/// Vaults that were made once, by the command itself (`scripts/freeze-vault`), must open for ever.
@Suite(.timeLimit(.minutes(15))) struct FrozenVaultTests {
  private static let folder =
    String(
      #filePath.split(separator: "/", omittingEmptySubsequences: false).dropLast(2)
        .joined(separator: "/")) + "/FrozenVaults"

  private let scratch = ScratchDirectory()

  private func unpack(_ name: String) throws -> String {
    let process = try System.spawn(
      "/usr/bin/env",
      ["env", "tar", "-xJf", Self.folder + "/" + name + ".tar.xz", "-C", scratch.path],
      descriptors: [.null, .inherited, .inherited], detached: false)
    try #require(try System.wait(for: process) == .exited(0), "tar and xz unpack \(name)")
    return scratch.path(name)
  }

  private func password() throws -> SecretBytes {
    let line = try #require(readLines(Self.folder + "/password")?.first)
    return secret(line)
  }

  private func open(_ path: String, readOnly: Bool) throws -> Volume {
    let disk = try PosixDisk(path: path)
    let unlocked = try ConfigurationFiles(disk: disk).unlock(password())
    var options = EngineOptions()
    options.worksInBackground = false
    options.readOnly = readOnly
    options.configurationGeneration = unlocked.configuration.generation
    return try Volume.open(
      on: disk, master: unlocked.master, vault: unlocked.configuration.vault, options: options,
      anchor: nil)
  }

  @Test(arguments: ["locked", "killed"]) func opensForEver(name: String) throws {
    let path = try unpack(name)
    let expected = try #require(readLines(Self.folder + "/\(name).listing")).filter { !$0.isEmpty }
    #expect(expected.count >= 5)
    for readOnly in [true, false, false] {
      let volume = try open(path, readOnly: readOnly)
      let found = try Tree(volume).lines
      let missing = Set(expected).subtracting(found).sorted()
      let extra = Set(found).subtracting(expected).sorted()
      #expect(missing == [] && extra == [], "read-only \(readOnly)")
      let isFirst = readOnly && name == "killed"
      if isFirst { #expect("\(volume.warnings)".contains("recovered")) }
      try volume.close()
    }
  }

  @Test func aWrongPasswordIsTold() throws {
    let disk = try PosixDisk(path: unpack("locked"))
    #expect(throws: VaultError.wrongPassword) {
      _ = try ConfigurationFiles(disk: disk).unlock(secret("another password"))
    }
  }
}

extension Tree {
  /// As `Tests/FrozenVaults/list` shows a mounted vault.
  fileprivate var lines: [String] {
    entries.filter { $0.path != "/" }.map { entry in
      let types = [FileMode.regular: "f", FileMode.directory: "d", FileMode.symlink: "l"]
      let mode = String(entry.attributes.mode & FileMode.permissionMask, radix: 8)
      let time = entry.attributes.modified
      let digits = String(time.nanoseconds)
      let fraction = String(repeating: "0", count: 9 - digits.count) + digits + "0"
      let contents: [UInt8]? =
        switch entry.type {
        case FileMode.regular: entry.pieces.flatMap { $0.bytes }
        case FileMode.symlink: entry.target
        default: nil
        }
      let attributes = entry.extended.map { name, value in
        String(decoding: name, as: UTF8.self) + "=0x" + hex(value) + "\n"
      }.sorted().joined()
      return [
        types[entry.type] ?? "p", mode, String(entry.attributes.links),
        String(entry.attributes.size), "\(time.seconds).\(fraction)",
        contents.map { Self.sum($0) } ?? "-",
        attributes.isEmpty ? "-" : Self.sum(Array(attributes.utf8)),
        String(entry.path.dropFirst()),
      ].joined(separator: "\t")
    }
  }

  private static func sum(_ bytes: [UInt8]) -> String { hex(Hash.sha256(Buffer(bytes).bytes)) }
}
