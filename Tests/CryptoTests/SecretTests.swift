import Bytes
import Crypto
import POSIX
import TestKit
import Testing

@Suite struct SecretTests {
  @Test func aSecretStartsAsZeros() {
    for count in [1, 31, 32, 33, 64, 1000, 16384] {
      let secret = SecretBytes(count: count)
      #expect(secret.count == count)
      #expect(reveal(secret).allSatisfy { $0 == 0 })
    }
  }

  /// What was released is given out again: had it not been wiped, a new secret would show it.
  @Test func aReleasedSecretIsWiped() {
    for _ in 0..<100 {
      do {
        var secret = SecretBytes(count: 48)
        var bytes = secret.mutableBytes
        bytes.copy(from: [UInt8](repeating: 0xaa, count: 48), 0..<48, to: 0)
        #expect(reveal(secret) == [UInt8](repeating: 0xaa, count: 48))
      }
      let next = SecretBytes(count: 64)
      #expect(reveal(next).allSatisfy { $0 == 0 })
    }
  }

  @Test func secretsDoNotOverlap() {
    final class Box { let secret = SecretBytes(random: 32) }
    let boxes = (0..<2000).map { _ in Box() }
    let values = boxes.map { reveal($0.secret) }
    #expect(Set(values).count == 2000)
    #expect(boxes.map { reveal($0.secret) } == values, "no secret was changed by another")
  }

  @Test func aCloneIsApart() {
    var original = SecretBytes(random: 32)
    let bytes = reveal(original)
    let clone = original.clone()
    var span = original.mutableBytes
    span.copy(from: [UInt8](repeating: 0, count: 32), 0..<32, to: 0)
    #expect(reveal(clone) == bytes)
    #expect(reveal(clone.prefix(7)) == Array(bytes[..<7]))
  }

  @Test func secretsOfSeveralThreadsAreApart() throws {
    let failures = Lock(0)
    let threads = try (0..<4).map { (thread: Int) throws(Errno) in
      try Thread.start("secrets") {
        for _ in 0..<500 {
          var secret = SecretBytes(count: 32)
          var span = secret.mutableBytes
          let mine = [UInt8](repeating: UInt8(thread + 1), count: 32)
          span.copy(from: mine, 0..<32, to: 0)
          if reveal(secret.clone()) != mine { failures.withLock { $0 += 1 } }
        }
      }
    }
    for thread in threads { thread.join() }
    #expect(failures.withLock { $0 } == 0)
  }

  private func equal(_ one: [UInt8], _ other: [UInt8]) -> Bool {
    let one = secret(one)
    let other = secret(other)
    return constantTimeEqual(one.bytes, other.bytes)
  }

  @Test func equalSecretsAreEqual() {
    #expect(equal([1, 2, 3], [1, 2, 3]))
    #expect(!equal([1, 2, 3], [1, 2, 4]))
    #expect(!equal([1, 2, 3], [1, 2]))
  }
}
