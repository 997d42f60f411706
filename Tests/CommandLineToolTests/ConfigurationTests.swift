import Bytes
import Crypto
import Format
import TestKit
import Testing
@testable import Vault

/// The configuration survives damage, tells it from a wrong password, and is replaced whole or not
/// at all.
@Suite struct ConfigurationTests {
  /// A configuration nobody can open: enough where no key is derived.
  private func sample(generation: UInt64 = 1) -> Configuration {
    var configuration = Configuration(
      vault: Random.bytes(16), generation: generation, cost: .frozen)
    configuration.slots[2] = KeySlot(
      kind: .password, generation: generation, salt: Random.bytes(16),
      commitment: Random.bytes(32), iv: Random.bytes(12), sealedKey: Random.bytes(32),
      tag: Random.bytes(16))
    configuration.mac = Random.bytes(32)
    return configuration
  }

  private func written(_ configuration: Configuration) throws -> (SimulatedDisk, ConfigurationFiles)
  {
    let disk = SimulatedDisk()
    let files = ConfigurationFiles(disk: disk)
    try files.write(configuration)
    return (disk, files)
  }

  @Test func whatIsWrittenIsRead() throws {
    let configuration = sample(generation: 7)
    #expect(try Configuration(decoding: configuration.encoded()) == configuration)
    let found = try written(configuration).1.read()
    #expect(found.copies == [configuration] && !found.unequal)
  }

  @Test func damageOfAnyByteOfOneCopyIsSurvived() throws {
    let configuration = sample()
    let (disk, files) = try written(configuration)
    for name in [Configuration.fileName, Configuration.copyName] {
      for byte in 0..<Configuration.size {
        disk.flipBit(of: name, at: byte * 8 + byte % 8)
        let found = try files.read()
        #expect(found.copies == [configuration] && found.unequal)
        disk.flipBit(of: name, at: byte * 8 + byte % 8)
      }
    }
  }

  @Test func damageOfBothIsNeverAWrongPassword() throws {
    let (disk, files) = try written(sample())
    let password = secret("no matter")
    for byte in stride(from: 0, to: Configuration.size, by: 61) {
      for name in [Configuration.fileName, Configuration.copyName] {
        disk.flipBit(of: name, at: byte * 8)
      }
      #expect(throws: VaultError.damagedConfiguration) { _ = try files.unlock(password).slot }
      for name in [Configuration.fileName, Configuration.copyName] {
        disk.flipBit(of: name, at: byte * 8)
      }
    }
  }

  @Test(arguments: [0, 1, 4095, 4097, 8192])
  func aWrongSizeIsDamage(size: Int) throws {
    let (disk, files) = try written(sample())
    for name in [Configuration.fileName, Configuration.copyName] {
      disk.replace(name, with: [UInt8](repeating: 0, count: size))
    }
    #expect(throws: VaultError.damagedConfiguration) { try files.read() }
  }

  @Test func aMissingConfigurationIsTold() throws {
    let (disk, files) = try written(sample())
    disk.removeObject(Configuration.fileName)
    #expect(try files.read().unequal)
    disk.removeObject(Configuration.copyName)
    #expect(throws: VaultError.noSuchVault) { try files.read() }
    disk.replace("root.0", with: [1])
    #expect(throws: VaultError.missingConfiguration) { try files.read() }
  }

  @Test func otherCostsAreRefusedBeforeTheyArePaid() throws {
    var configuration = sample()
    configuration.cost.memoryKiB = .max
    let files = try written(configuration).1
    #expect(throws: VaultError.damagedConfiguration) { try files.read() }
  }

  @Test func aNewerFormatIsTold() throws {
    let (disk, files) = try written(sample())
    var page = try #require(disk.content(of: Configuration.fileName))
    page[8] = 2
    let sum = Hash.sha256(Buffer(page).bytes(in: 0..<Configuration.checksumOffset))
    page.replaceSubrange(Configuration.checksumOffset..., with: sum)
    disk.replace(Configuration.fileName, with: page)
    #expect(throws: VaultError.unsupported) { try files.read() }
  }

  @Test func anyPageIsDecodedWithoutATrap() {
    var generator = SplitMix64(seed: 1)
    for _ in 0..<500 {
      let page = sample().encoded()
      for _ in 0..<3 {
        let offset = Int(generator.next() % UInt64(Configuration.size))
        page.store([UInt8(truncatingIfNeeded: generator.next())], at: offset)
      }
      _ = try? Configuration(decoding: page)
    }
  }

  @Test(arguments: [CrashMode.dropAll, .keepAll, .prefix, .subset])
  func aChangeIsWholeOrNot(mode: CrashMode) throws {
    let old = sample(generation: 1)
    var new = old
    new.generation = 2
    for step in 0..<20 {
      for seed in 0..<8 as Range<UInt64> {
        let (disk, files) = try written(old)
        disk.stopAfter = disk.steps + step
        try? files.write(new)
        let after = disk.crashed(seed: seed, mode: mode)
        let found = try ConfigurationFiles(disk: after).read()
        #expect(found.copies.allSatisfy { $0 == old || $0 == new })
      }
    }
  }
}

/// A secret of a test.
func secret(_ text: String) -> SecretBytes { SecretBytes(copying: Buffer(Array(text.utf8)).bytes) }
