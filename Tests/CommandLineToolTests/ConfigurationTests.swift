import Bytes
import Crypto
import Format
import TestKit
import Testing

@testable import Vault

@Suite struct ConfigurationTests {
  private let configured = Configured.shared

  @Test func decodingGivesBackWhatWasEncoded() throws {
    let page = Buffer(configured.configuration.page)
    #expect(page.count == 4096)
    #expect(try Configuration(decoding: page) == configured.configuration)
  }

  @Test func everyByteOfAPageCounts() throws {
    let page = configured.configuration.page
    for index in page.indices where index < Configuration.checksumOffset {
      var changed = page
      changed[index] ^= 0x40
      let decoded = try? Configuration(decoding: Buffer(changed))
      #expect(decoded != configured.configuration, "byte \(index) is ignored")
    }
  }

  @Test(arguments: [0, 1, 4095, 4097, 8192]) func anotherSizeIsNoConfiguration(size: Int) {
    #expect(throws: Configuration.Problem.malformed) {
      try Configuration(decoding: Buffer(count: size))
    }
  }

  @Test(arguments: 0..<200 as Range<UInt64>) func decodingIsTotal(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    var page = configured.configuration.page
    for _ in 0..<(1 + random.next() % 64) {
      page[Int(random.next() % 1200)] = UInt8(truncatingIfNeeded: random.next())
    }
    _ = try? Configuration(decoding: Buffer(page))
  }

  /// Version and feature flags of a later format are told, never taken for damage.
  @Test(arguments: [8, 12], copies) func aNewerFormatIsRefusedAsSuch(offset: Int, copy: String) {
    var page = configured.configuration.page
    page[offset] ^= 0x80
    let checksum = Hash.sha256(Buffer(page).bytes(in: 0..<Configuration.checksumOffset))
    page.replaceSubrange(Configuration.checksumOffset..., with: checksum)
    let disk = configured.disk
    disk.replace(copy, with: page)
    #expect(Outcome(disk, Configured.password) == .failed(.unsupported))
  }

  @Test func aCostThatIsNotTheFrozenOneIsDamage() {
    for change in [\PasswordCost.memoryKiB, \.passes, \.lanes, \.version] {
      var changed = configured.configuration
      changed.cost[keyPath: change] = 1 << 30
      let disk = configured.disk
      for copy in copies { disk.replace(copy, with: changed.page) }
      #expect(Outcome(disk, Configured.password) == .failed(.damagedConfiguration))
    }
  }
}
