import Bytes
import Crypto
import POSIX
import TestKit
import Testing

/// Each in a process of its own: others would forget contexts meanwhile.
///
/// OpenSSL's schedule of an AES key starts with the key itself.
@Suite struct WipeTests {
  @Test func aDroppedKeyLeavesThreadsThatSleep() async {
    await #expect(processExitsWith: .success) {
      let planted = PlantedKey(1)
      let sleepers = try Sleepers(count: 3)
      var keys = [planted.makeKey()]
      let secret = try OwnMemory.occurrences(of: planted)
      #expect(sleepers.use(keys[0]))
      #expect(try OwnMemory.occurrences(of: planted) == secret + 6)
      keys = []
      #expect(try OwnMemory.occurrences(of: planted) == 0)
      sleepers.end()
    }
  }

  @Test func forgettingLeavesNothingInThreadsThatSleep() async {
    await #expect(processExitsWith: .success) {
      let planted = PlantedKey(2)
      let sleepers = try Sleepers(count: 3)
      let key = planted.makeKey()
      let secret = try OwnMemory.occurrences(of: planted)
      for _ in 0..<2 {
        #expect(sleepers.use(key))
        #expect(try OwnMemory.occurrences(of: planted) == secret + 6)
        SealingKey.forgetContexts()
        #expect(try OwnMemory.occurrences(of: planted) == secret)
      }
      sleepers.end()
    }
  }

  @Test func theNextKeyOverwritesTheLast() async {
    await #expect(processExitsWith: .success) {
      let planted = PlantedKey(3)
      let sleepers = try Sleepers(count: 2)
      let key = planted.makeKey()
      let secret = try OwnMemory.occurrences(of: planted)
      #expect(sleepers.use(key))
      #expect(try OwnMemory.occurrences(of: planted) == secret + 4)
      #expect(sleepers.use(SealingKey(SecretBytes(random: 32))))
      #expect(try OwnMemory.occurrences(of: planted) == secret)
      #expect(sleepers.use(key))
      sleepers.end()
    }
  }

  @Test func aThreadThatEndsTakesItsContextsAlong() async {
    await #expect(processExitsWith: .success) {
      let planted = PlantedKey(4)
      let sleepers = try Sleepers(count: 2)
      let key = planted.makeKey()
      let secret = try OwnMemory.occurrences(of: planted)
      #expect(sleepers.use(key))
      #expect(try OwnMemory.occurrences(of: planted) == secret + 4)
      sleepers.end()
      #expect(try OwnMemory.occurrences(of: planted) == secret)
      withExtendedLifetime(key) {}
    }
  }

  @Test func keysWorkWhileContextsAreForgotten() async {
    await #expect(processExitsWith: .success) {
      let keys = (0..<3).map { _ in SealingKey(SecretBytes(random: 32)) }
      let failures = Lock(0)
      let threads = try (0..<4).map { (thread: Int) throws(Errno) in
        try Thread.start("seal") {
          for round in 0..<1000 {
            let own = SealingKey(SecretBytes(random: 32))
            let good = Sleepers.roundTrip(keys[(round + thread) % 3])
            if !good || !Sleepers.roundTrip(own) { failures.withLock { $0 += 1 } }
          }
        }
      }
      for _ in 0..<1000 { SealingKey.forgetContexts() }
      for thread in threads { thread.join() }
      #expect(failures.withLock { $0 } == 0)
    }
  }
}
