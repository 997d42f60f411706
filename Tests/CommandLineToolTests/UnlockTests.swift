import Bytes
import Crypto
import Format
import TestKit
import Testing
@testable import Vault

/// Passwords, right and wrong, with the true cost: few calls, in one test after the other.
@Suite(.serialized) struct UnlockTests {
  private let disk = SimulatedDisk()
  private var files: ConfigurationFiles { ConfigurationFiles(disk: disk) }

  /// A new configuration as `init` writes it.
  private func make(_ password: String) throws {
    let master = SecretBytes(random: 32)
    var configuration = Configuration(vault: Random.bytes(16), generation: 1, cost: .frozen)
    configuration.slots[0] = try KeySlots.seal(
      master, password: secret(password), in: configuration, at: 0)
    configuration.mac = KeySlots.mac(of: configuration, master)
    try files.write(configuration)
  }

  private func opens(_ password: String) throws -> Bool {
    do throws(VaultError) {
      return try files.unlock(secret(password)).slot == 0
    } catch {
      guard error == .wrongPassword else { throw error }
      return false
    }
  }

  @Test func passwordsAndTheirChange() throws {
    try make("first")
    let before = try #require(disk.content(of: Configuration.fileName))
    #expect(try opens("first"))
    #expect(try !opens("First"))
    #expect(try files.changePassword(old: secret("first"), new: secret("second")) == 2)
    #expect(try opens("second"))

    // Killed between the two copies: the old password is wrong, not a way back.
    disk.replace(Configuration.copyName, with: before)
    #expect(try !opens("first"))
    // And the copies are made equal by the next unlock that has room; it does not wait for it.
    disk.capacity = disk.used
    #expect(try files.unlockAndHeal(secret("second")).unequal)
    #expect(disk.content(of: Configuration.copyName) == before)
    disk.capacity = nil
    #expect(try files.unlockAndHeal(secret("second")).unequal)
    #expect(
      disk.content(of: Configuration.copyName) == disk.content(of: Configuration.fileName))
  }

  /// Changes a page and makes its checksum good, as somebody does who means it.
  private func tamper(_ name: String, _ offset: Int, _ bytes: [UInt8]) throws {
    var page = try #require(disk.content(of: name))
    page.replaceSubrange(offset..<(offset + bytes.count), with: bytes)
    let sum = Hash.sha256(Buffer(page).bytes(in: 0..<Configuration.checksumOffset))
    page.replaceSubrange(Configuration.checksumOffset..., with: sum)
    disk.replace(name, with: page)
  }

  @Test func tamperingIsNotBelieved() throws {
    try make("word")
    let good = try #require(disk.content(of: Configuration.copyName))
    // A generation from the future, and a commitment that matches nothing: the true copy opens.
    try tamper(Configuration.fileName, 32, [9])
    try tamper(Configuration.fileName, 64 + 32, [UInt8](repeating: 1, count: 32))
    #expect(try files.unlockAndHeal(secret("word")).unequal)
    #expect(disk.content(of: Configuration.fileName) == good)
    // The envelope of both copies: the commitment still says that the password is right.
    for name in [Configuration.fileName, Configuration.copyName] {
      try tamper(name, 64 + 76, [UInt8](repeating: 1, count: 32))
    }
    #expect(throws: VaultError.damagedConfiguration) { try opens("word") }
  }

  @Test func aGenerationOfBothCopiesIsProven() throws {
    try make("word")
    for name in [Configuration.fileName, Configuration.copyName] { try tamper(name, 32, [9]) }
    #expect(throws: VaultError.damagedConfiguration) { try opens("word") }
  }
}
