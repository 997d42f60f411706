import Bytes
import Crypto
import Disk
import Engine
import Format
import Glibc
import POSIX
import TestKit
import Testing
import Volume

@testable import Vault

@Suite struct CreationTests {
  private let configured = Configured.shared

  private func open(_ disk: SimulatedDisk) throws -> Volume {
    try Volume.open(
      on: disk, master: configured.key, vault: configured.configuration.vault,
      options: Self.options, anchor: nil)
  }

  private func fill(_ disk: SimulatedDisk) throws(VaultError) {
    do throws(DiskError) { try BackupMarkers.set(.exclude, disk) } catch { throw VaultError(error) }
    try Vault.fill(disk, configured.configuration, configured.key, Self.options, anchor: nil)
  }

  /// A small journal: recovery looks at all of it.
  private static let options = {
    var options = EngineOptions()
    options.journalSegmentBytes = 64 << 10
    return options
  }()

  @Test func aNewVaultHasNoLeftovers() throws {
    let disk = SimulatedDisk()
    try fill(disk)
    try open(disk).close()
    #expect(!disk.names.contains(Vault.mark))
    #expect(throws: VaultError.isVault) { try Vault.checkEmpty(disk) }
  }

  /// A killed `init` can be run again on what it left, or it had already made a vault that opens.
  @Test(arguments: CrashMode.allCases, [3, 4] as [UInt64])
  func aCrashedCreationCanBeRunAgain(mode: CrashMode, seed: UInt64) throws {
    var isDone = false
    var point = 0
    while !isDone {
      let disk = SimulatedDisk()
      disk.stopAfter = point
      isDone = (try? fill(disk)) != nil
      let crashed = disk.crashed(seed: seed, mode: mode)
      let isWhole = (try? ConfigurationFiles(disk: crashed).read()) != nil
      if isWhole { try open(crashed).close() }
      do throws(VaultError) {
        try Vault.checkEmpty(crashed)
        try fill(crashed)
        #expect(!isDone)
        #expect(try ConfigurationFiles(disk: crashed).read().copies == [configured.configuration])
      } catch {
        // All was made, and the mark is gone already.
        #expect(error == .isVault && isWhole, "mode \(mode) seed \(seed) step \(point)")
      }
      point += 1
    }
    #expect(point > 10)
  }

  @Test func dataWithoutConfigurationIsNeverTakenForANewVault() throws {
    let disk = SimulatedDisk()
    try fill(disk)
    for copy in copies { disk.removeObject(copy) }
    #expect(throws: VaultError.missingConfiguration) { try Vault.checkEmpty(disk) }
    // What a killed change of the password leaves does not make it an unfinished one.
    disk.replace(Configuration.newName, with: [])
    #expect(throws: VaultError.missingConfiguration) { try Vault.checkEmpty(disk) }
  }

  @Test(arguments: ["", "/", "//"]) func aLinkThatLeadsNowhereIsNotFilled(end: String) throws {
    let folder = ScratchDirectory()
    let path = folder.path("link")
    #expect(unsafe symlink("nowhere", path) == 0)
    #expect(throws: VaultError.noFolder(.exists)) { try Vault.checkCreatable(at: path + end) }
    let password = SecretBytes(random: 8)
    #expect(throws: VaultError.noFolder(.exists)) {
      try Vault.create(at: path + end, password: password)
    }
    #expect(try System.linkStatus(at: path).mode & S_IFMT == S_IFLNK)
  }

  @Test func aLinkToAnEmptyFolderIsFilled() throws {
    let folder = ScratchDirectory()
    #expect(unsafe symlink(".", folder.path("link")) == 0)
    // The link itself is in the folder.
    #expect(throws: VaultError.notEmpty) { try Vault.checkCreatable(at: folder.path("link")) }
    #expect(unsafe unlink(folder.path("link")) == 0)
    let other = ScratchDirectory()
    #expect(unsafe symlink(folder.path, other.path("link")) == 0)
    try Vault.checkCreatable(at: other.path("link"))
  }

  @Test func theFirstOpenRemovesAMarkThatStayed() throws {
    let disk = SimulatedDisk()
    try fill(disk)
    for name in [Vault.mark, Configuration.newName] { disk.replace(name, with: []) }
    try Vault.removeLeftovers(disk)
    #expect(!disk.names.contains(Vault.mark) && !disk.names.contains(Configuration.newName))
  }

  @Test(arguments: [["letter.txt"], ["data"], ["lock", "x"], ["coffre.conf.new"]])
  func aFolderWithSomethingInItIsRefused(names: [String]) {
    let disk = SimulatedDisk()
    for name in names { disk.replace(name, with: [1]) }
    #expect(throws: VaultError.notEmpty) { try Vault.checkEmpty(disk) }
  }
}
