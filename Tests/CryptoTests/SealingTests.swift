import Bytes
import Crypto
import POSIX
import TestKit
import Testing

@Suite struct SealingTests {
  private let iv = IV(high: 1, low: 2)
  private let context = AdditionalData(kind: 3, 4, 5, 6)

  private func plain(_ count: Int) -> Buffer {
    var random = SplitMix64(seed: 7)
    return Buffer(random.bytes(count))
  }

  @Test func aBufferIsSealedInPlace() {
    let key = SealingKey(SecretBytes(random: 32))
    let original = plain(4096)
    let apart = Buffer(count: 4096)
    let tag = key.seal(original, 0..<4096, into: apart, at: 0, iv: iv, additional: context)
    let inPlace = Buffer(copying: original)
    let sameTag = key.seal(inPlace, 0..<4096, into: inPlace, at: 0, iv: iv, additional: context)
    #expect(tag == sameTag)
    #expect(inPlace.load(0..<4096) == apart.load(0..<4096))
    #expect(
      key.open(
        inPlace, 0..<4096, into: inPlace, at: 0, iv: iv, tag: tag, additional: context))
    #expect(inPlace.load(0..<4096) == original.load(0..<4096))
  }

  @Test func everythingASealIsBoundToCounts() {
    let bytes = SecretBytes(random: 32)
    let key = SealingKey(bytes.clone())
    let sealed = Buffer(count: 64)
    let original = plain(64)
    let tag = key.seal(original, 0..<64, into: sealed, at: 0, iv: iv, additional: context)
    let target = Buffer(count: 64)
    func opens(
      _ key: SealingKey, iv: IV, tag: Crypto.Tag, _ additional: AdditionalData, _ sealed: Buffer
    ) -> Bool {
      target.store([UInt8](repeating: 0xaa, count: 64), at: 0)
      let good = key.open(
        sealed, 0..<64, into: target, at: 0, iv: iv, tag: tag, additional: additional)
      if !good { #expect(target.isZero(0..<64), "a refused output is wiped") }
      return good
    }
    #expect(opens(key, iv: iv, tag: tag, context, sealed))
    #expect(opens(SealingKey(bytes.clone()), iv: iv, tag: tag, context, sealed))
    #expect(!opens(SealingKey(SecretBytes(random: 32)), iv: iv, tag: tag, context, sealed))
    #expect(!opens(key, iv: IV(high: 1, low: 3), tag: tag, context, sealed))
    #expect(!opens(key, iv: IV(high: 9, low: 2), tag: tag, context, sealed))
    #expect(!opens(key, iv: iv, tag: Tag(low: tag.low ^ 1, high: tag.high), context, sealed))
    #expect(
      !opens(key, iv: iv, tag: Tag(low: tag.low, high: tag.high ^ (1 << 63)), context, sealed))
    for other in [
      AdditionalData(kind: 2, 4, 5, 6), AdditionalData(kind: 3, 0, 5, 6),
      AdditionalData(kind: 3, 4, 0, 6), AdditionalData(kind: 3, 4, 5, 0),
    ] {
      #expect(!opens(key, iv: iv, tag: tag, other, sealed))
    }
    for bit in stride(from: 0, to: 64 * 8, by: 37) {
      let altered = Buffer(copying: sealed)
      altered.store(
        altered.load(UInt8.self, at: bit / 8) ^ (1 << UInt8(bit % 8)), at: bit / 8)
      #expect(!opens(key, iv: iv, tag: tag, context, altered))
    }
  }

  @Test func contextsAreForgottenAndMadeAnew() {
    let key = SealingKey(SecretBytes(random: 32))
    let original = plain(32)
    let sealed = Buffer(count: 32)
    let tag = key.seal(original, 0..<32, into: sealed, at: 0, iv: iv, additional: context)
    SealingKey.forgetContexts()
    let opened = Buffer(count: 32)
    #expect(key.open(sealed, 0..<32, into: opened, at: 0, iv: iv, tag: tag, additional: context))
    #expect(opened.load(0..<32) == original.load(0..<32))
  }

  /// Keys take turns in several threads at once: no thread may use another's context or an old key.
  @Test func keysDoNotMixBetweenThreads() throws {
    let keys = (0..<4).map { _ in SealingKey(SecretBytes(random: 32)) }
    let failures = Lock(0)
    let threads = try (0..<4).map { (thread: Int) throws(Errno) in
      try Thread.start("seal") {
        let iv = IV(high: UInt64(thread), low: 0)
        let context = AdditionalData(kind: 1, 2, 3)
        let plain = Buffer([UInt8](repeating: UInt8(thread), count: 512))
        let sealed = Buffer(count: 512)
        let opened = Buffer(count: 512)
        for round in 0..<500 {
          let key = keys[(round + thread) % 4]
          let other = keys[(round + thread + 1) % 4]
          let tag = key.seal(plain, 0..<512, into: sealed, at: 0, iv: iv, additional: context)
          let good = key.open(
            sealed, 0..<512, into: opened, at: 0, iv: iv, tag: tag, additional: context)
          let same = opened.load(0..<512) == plain.load(0..<512)
          let wrong = other.open(
            sealed, 0..<512, into: opened, at: 0, iv: iv, tag: tag, additional: context)
          if !good || !same || wrong { failures.withLock { $0 += 1 } }
        }
      }
    }
    for thread in threads { thread.join() }
    #expect(failures.withLock { $0 } == 0)
  }
}
