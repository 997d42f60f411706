import Bytes
import Crypto
import POSIX
import TestKit
import Testing

/// All keys go at once, whoever is at work with them. In a process of its own: it can do nothing
/// with keys after that.
@Suite struct KeyWipeTests {
  @Test(.timeLimit(.minutes(1))) func nothingIsLeftAndNothingIsSealedAfter() async {
    await #expect(processExitsWith: .success) {
      let planted = PlantedKey(9)
      let sleepers = try Sleepers(count: 2)
      let key = planted.makeKey()
      #expect(sleepers.use(key))
      let secret = SecretBytes(random: 32)
      KeyWipe.everything()
      #expect(try OwnMemory.occurrences(of: planted) == 0)
      #expect(array(secret.bytes) == [UInt8](repeating: 0, count: 32))

      // Under what is left of the key nothing may be sealed.
      let isSealed = Monitor(false)
      try Thread.start("late") {
        let buffer = Buffer(count: 64)
        _ = key.seal(
          buffer, 0..<32, into: buffer, at: 32, iv: Random.iv(),
          additional: AdditionalData(kind: 1, 0, 0))
        isSealed.withLock { $0 = true }
      }
      let wasSealed = isSealed.withLock(when: { $0 }, timeout: 500_000_000) { $0 }
      #expect(!wasSealed)
    }
  }
}
