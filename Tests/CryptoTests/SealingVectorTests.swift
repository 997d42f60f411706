import Bytes
import Crypto
import TestKit
import Testing

/// AES-256-GCM against NIST's own vectors.
@Suite(.enabled(if: VectorFile.isInstalled, "python3-cryptography-vectors is not installed"))
struct SealingVectorTests {
  private func key(_ vector: GCMVector) -> SealingKey {
    let bytes = Buffer(vector.key)
    return SealingKey(SecretBytes(copying: bytes.bytes))
  }

  private func open(_ vector: GCMVector) -> (good: Bool, plain: [UInt8]) {
    let sealed = Buffer(vector.sealed)
    let iv = Buffer(vector.iv)
    let tag = Buffer(vector.tag)
    let additional = Buffer(vector.additional)
    let plain = Buffer([UInt8](repeating: 0xaa, count: vector.sealed.count))
    var span = plain.mutableBytes(in: 0..<plain.count)
    let good = key(vector).open(
      sealed.bytes, into: &span, iv: iv.bytes, tag: tag.bytes, additional: additional.bytes)
    return (good, plain.load(0..<plain.count))
  }

  @Test func sealsAsTheVectorsSay() {
    let vectors = VectorFile.read("gcmEncryptExtIV256.rsp")
    #expect(vectors.count >= 300)
    for vector in vectors {
      let plain = Buffer(vector.plain)
      let iv = Buffer(vector.iv)
      let additional = Buffer(vector.additional)
      let sealed = Buffer(count: plain.count)
      let tag = Buffer(count: 16)
      var sealedSpan = sealed.mutableBytes(in: 0..<sealed.count)
      var tagSpan = tag.mutableBytes(in: 0..<16)
      key(vector).seal(
        plain.bytes, into: &sealedSpan, iv: iv.bytes, tag: &tagSpan, additional: additional.bytes)
      #expect(sealed.load(0..<sealed.count) == vector.sealed, "Count \(vector.count)")
      #expect(tag.load(0..<16) == vector.tag, "Count \(vector.count)")
    }
  }

  @Test func opensAsTheVectorsSay() {
    let vectors = VectorFile.read("gcmDecrypt256.rsp")
    #expect(vectors.count >= 300)
    #expect(vectors.count { $0.fails } >= 50)
    for vector in vectors {
      let result = open(vector)
      #expect(result.good == !vector.fails, "Count \(vector.count)")
      let expected =
        vector.fails ? [UInt8](repeating: 0, count: vector.sealed.count) : vector.plain
      #expect(result.plain == expected, "Count \(vector.count)")
    }
  }

  @Test func everyAlterationIsRefused() throws {
    let vectors = VectorFile.read("gcmEncryptExtIV256.rsp")
    let full = try #require(
      vectors.first { $0.plain.count >= 16 && $0.additional.count >= 16 })
    #expect(open(full).good)
    var random = SplitMix64(seed: 1)
    for field in [\GCMVector.key, \.iv, \.sealed, \.additional, \.tag] {
      for _ in 0..<20 {
        var altered = full
        let index = random.below(altered[keyPath: field].count)
        altered[keyPath: field][index] ^= 1 << UInt8(random.below(8))
        let result = open(altered)
        #expect(!result.good)
        #expect(result.plain.allSatisfy { $0 == 0 }, "the output is wiped")
      }
    }
  }
}
