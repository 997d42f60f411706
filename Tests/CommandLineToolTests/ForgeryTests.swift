import Bytes
import Crypto
import Format
import TestKit
import Testing

@testable import Vault

/// Whoever can write the configuration can make its checksum good; he gains nothing by it.
@Suite struct ForgeryTests {
  private let configured = Configured.shared

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
}
