import Disk
import POSIX
import TestKit
import Testing

@testable import Vault

/// The markers that keep backup programs out of a vault's folder.
@Suite struct BackupMarkerTests {
  private static let signature = Array("Signature: 8a477f597d28d172789f06886806bc55\n".utf8)

  @Test func theFilesAreThePolicy() throws {
    let disk = SimulatedDisk()
    disk.replace("root.0", with: [1])
    #expect(try BackupMarkers.policy(disk) == .includeCiphertext)
    try BackupMarkers.set(.exclude, disk)
    #expect(try BackupMarkers.policy(disk) == .exclude)
    let tag = try #require(disk.content(of: "CACHEDIR.TAG"))
    #expect(tag.starts(with: Self.signature))
    #expect(disk.content(of: ".nobackup") == [])
    try BackupMarkers.set(.includeCiphertext, disk)
    try BackupMarkers.set(.includeCiphertext, disk)
    #expect(try BackupMarkers.policy(disk) == .includeCiphertext)
    #expect(disk.content(of: "root.0") == [1])
  }

  /// One of the files is enough, whichever a program has lost.
  @Test(arguments: BackupMarkers.files) func whatIsMissingComesBack(name: String) throws {
    let disk = SimulatedDisk()
    try BackupMarkers.set(.exclude, disk)
    disk.removeObject(name)
    #expect(try BackupMarkers.policy(disk) == .exclude)
    try BackupMarkers.set(.exclude, disk)
    #expect(Set(disk.names).isSuperset(of: BackupMarkers.files))
  }

  @Test(arguments: [[], Array("Signature: 8a47".utf8), [UInt8](repeating: 0, count: 500)])
  func aTagWithoutItsSignatureIsWrittenAnew(content: [UInt8]) throws {
    let disk = SimulatedDisk()
    try BackupMarkers.set(.exclude, disk)
    let whole = disk.content(of: "CACHEDIR.TAG")
    disk.replace("CACHEDIR.TAG", with: content)
    try BackupMarkers.set(.exclude, disk)
    #expect(disk.content(of: "CACHEDIR.TAG") == whole)
  }

  /// Text behind the signature is whoever's who wrote it.
  @Test func aTagWithItsSignatureStays() throws {
    let disk = SimulatedDisk()
    let own = Self.signature + Array("# mine\n".utf8)
    disk.replace("CACHEDIR.TAG", with: own)
    try BackupMarkers.set(.exclude, disk)
    #expect(disk.content(of: "CACHEDIR.TAG") == own)
  }

  /// Attribute and flag: what a folder has inherited goes as well.
  @Test func theFolderIsMarkedAndItsFilesAreFreed() throws {
    let scratch = ScratchDirectory()
    let name = "user.xdg.robots.backup"
    let folder = try System.open(scratch.path, [.directory])
    let hasAttributes = (try? System.setAttribute(name, to: [1], of: folder)) != nil
    let hasFlags = (try? System.setUndumped(folder, true)) != nil
    try? System.removeAttribute(name, of: folder)
    try? System.setUndumped(folder, false)
    try #require(hasAttributes || hasFlags, "a filesystem with neither: another one is needed")

    let vault = try Vault(path: scratch.path)
    try vault.setBackupPolicy(.exclude)
    try System.makeDirectory(scratch.path("data"), mode: 0o700)
    for path in ["root.0", "data/0000"] {
      _ = try System.open(scratch.path(path), [.readWrite, .create])
    }
    if hasAttributes {
      #expect(try System.attribute(name, of: folder) == Array("false".utf8))
    }
    #expect(System.isUndumped(folder) == hasFlags)

    // A program that copies a folder back may leave these out.
    try? System.setUndumped(folder, false)
    try? System.removeAttribute(name, of: folder)
    #expect(vault.repairMarkers() == nil)
    if hasAttributes {
      #expect(try System.attribute(name, of: folder) == Array("false".utf8))
    }
    #expect(System.isUndumped(folder) == hasFlags)

    try vault.setBackupPolicy(.includeCiphertext)
    if hasAttributes { #expect(try System.attribute(name, of: folder) == nil) }
    for path in [".", "root.0", "data", "data/0000"] {
      #expect(!System.isUndumped(try System.open(scratch.path(path), [])), "\(path)")
    }
    #expect(vault.repairMarkers() == nil)
    #expect(try vault.backupPolicy() == .includeCiphertext)
  }

  /// A mount goes on, and says so.
  @Test func whatIsInTheTagsPlaceIsNamed() throws {
    let scratch = ScratchDirectory()
    let vault = try Vault(path: scratch.path)
    try vault.setBackupPolicy(.exclude)
    try System.remove(scratch.path("CACHEDIR.TAG"))
    try System.makeDirectory(scratch.path("CACHEDIR.TAG"), mode: 0o700)
    #expect(vault.repairMarkers()?.contains("CACHEDIR.TAG") == true)
  }
}
