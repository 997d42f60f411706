import Bytes
import Crypto
import Format
import TestKit
import Testing

@testable import Vault

/// Damage is never a wrong password, and a wrong password never damage.
@Suite struct UnlockTests {
  private let configured = Configured.shared

  @Test func thePasswordOpensAndAnotherDoesNot() {
    let disk = configured.disk
    #expect(Outcome(disk, Configured.password) == .opened(generation: 1))
    #expect(Outcome(disk, "another password") == .failed(.wrongPassword))
    #expect(Outcome(disk, Configured.password + "\n") == .failed(.wrongPassword))
  }

  @Test(arguments: copies) func anyDamagedByteOfACopyIsToldWithoutAPassword(copy: String) throws {
    let disk = configured.disk
    let files = ConfigurationFiles(disk: disk)
    for byte in 0..<Configuration.size {
      disk.flipBit(of: copy, at: byte * 8 + byte % 8)
      let found = try files.read()
      #expect(found.copies == [configured.configuration] && found.unequal, "byte \(byte)")
      disk.flipBit(of: copy, at: byte * 8 + byte % 8)
    }
  }

  @Test(arguments: copies, [0, 1, 4095, 4097]) func aCopyOfAnotherSizeIsDamaged(
    copy: String, size: Int
  ) throws {
    let disk = configured.disk
    let page = configured.configuration.page + [0]
    disk.replace(copy, with: Array(page.prefix(size)))
    let found = try ConfigurationFiles(disk: disk).read()
    #expect(found.copies == [configured.configuration] && found.unequal)
  }

  @Test(arguments: copies) func theOtherCopyOpensAndMakesADamagedOneGood(copy: String) {
    let disk = configured.disk
    disk.flipBit(of: copy, at: 5000)
    let damaged = disk.content(of: copy)
    #expect(Outcome(disk, Configured.password) == .opened(generation: 1))
    #expect(disk.content(of: copy) == damaged, "unlocking alone writes nothing")
    #expect(Outcome(disk, Configured.password, healing: true) == .opened(generation: 1))
    for copy in copies { #expect(disk.content(of: copy) == configured.configuration.page) }
  }

  @Test(arguments: copies) func aMissingCopyIsMadeAgain(copy: String) {
    let disk = configured.disk
    disk.removeObject(copy)
    #expect(Outcome(disk, Configured.password, healing: true) == .opened(generation: 1))
    #expect(disk.content(of: copy) == configured.configuration.page)
  }

  @Test func twoDamagedCopiesAreDamageWhateverThePassword() {
    let disk = configured.disk
    for copy in copies { disk.flipBit(of: copy, at: 900) }
    #expect(Outcome(disk, Configured.password) == .failed(.damagedConfiguration))
    #expect(Outcome(disk, "another password") == .failed(.damagedConfiguration))
  }

  @Test func noConfigurationIsOneThingWithAndAnotherWithoutData() {
    let disk = SimulatedDisk()
    #expect(Outcome(disk, Configured.password) == .failed(.noSuchVault))
    disk.replace("root.0", with: [1])
    #expect(Outcome(disk, Configured.password) == .failed(.missingConfiguration))
  }

  enum Part: CaseIterable {
    case salt, commitment, iv, key, tag, generation, vault, mac
  }

  /// Somebody changes a field and recomputes the checksum, in both copies.
  @Test(arguments: Part.allCases) func aForgedFieldOpensNothing(part: Part) throws {
    var forged = configured.configuration
    var slot = try #require(forged.slots[0])
    switch part {
    case .salt: slot.salt[0] ^= 1
    case .commitment: slot.commitment[0] ^= 1
    case .iv: slot.iv[0] ^= 1
    case .key: slot.sealedKey[0] ^= 1
    case .tag: slot.tag[0] ^= 1
    case .generation: forged.generation += 1
    case .vault: forged.vault[0] ^= 1
    case .mac: forged.mac[0] ^= 1
    }
    forged.slots[0] = slot
    let disk = configured.disk
    for copy in copies { disk.replace(copy, with: forged.page) }
    // Salt, commitment and vault id go into the commitment: no key is the slot's any more.
    let isWrong = [Part.salt, .commitment, .vault].contains(part)
    let expected = isWrong ? VaultError.wrongPassword : .damagedConfiguration
    #expect(Outcome(disk, Configured.password) == .failed(expected))
  }

  /// In one copy only, the true one opens.
  @Test(arguments: copies) func aForgedNewerCopyDoesNotKeepTheTrueOneFromOpening(copy: String)
    throws
  {
    var forged = configured.configuration
    forged.generation = 99
    var slot = try #require(forged.slots[0])
    slot.commitment[3] ^= 1
    forged.slots[0] = slot
    let disk = configured.disk
    disk.replace(copy, with: forged.page)
    #expect(Outcome(disk, Configured.password, healing: true) == .opened(generation: 1))
    #expect(disk.content(of: copy) == configured.configuration.page)
  }
}
