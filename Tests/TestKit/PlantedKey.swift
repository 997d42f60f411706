import Bytes
package import Crypto

/// A key whose bytes are computed where they are needed, so that the search does not find itself.
package struct PlantedKey {
  private let seed: UInt64
  private let first: UInt64

  package init(_ number: UInt64) {
    seed = number
    first = Self.word(0, number)
  }

  private static func word(_ index: Int, _ seed: UInt64) -> UInt64 {
    var random = SplitMix64(seed: seed &+ UInt64(index) << 32)
    return random.next()
  }

  package func makeKey() -> SealingKey {
    var secret = SecretBytes(count: 32)
    var bytes = secret.mutableBytes
    for index in 0..<4 {
      bytes.storeBytes(of: Self.word(index, seed), toByteOffset: 8 * index, as: UInt64.self)
    }
    return SealingKey(secret)
  }

  /// Whether the key is at this place.
  func isIn(_ buffer: Buffer, at offset: Int) -> Bool {
    buffer.load(UInt64.self, at: offset) == first
      && (1..<4).allSatisfy {
        buffer.load(UInt64.self, at: offset + 8 * $0) == Self.word($0, seed)
      }
  }
}
