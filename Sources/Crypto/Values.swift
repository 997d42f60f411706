package import Bytes

/// The 96-bit IV of one seal, SP 800-38D 8.2.2: random.
package struct IV: Hashable, Sendable {
  package let high: UInt64
  package let low: UInt32
  package static let byteCount = 12

  package init(high: UInt64, low: UInt32) {
    self.high = high
    self.low = low
  }

  package init(from buffer: Buffer, at offset: Int) {
    high = buffer.load(UInt64.self, at: offset)
    low = buffer.load(UInt32.self, at: offset + 8)
  }

  package func store(to buffer: Buffer, at offset: Int) {
    buffer.store(high, at: offset)
    buffer.store(low, at: offset + 8)
  }

  var inline: InlineArray<3, UInt32> {
    [
      UInt32(truncatingIfNeeded: high).littleEndian,
      UInt32(truncatingIfNeeded: high >> 32).littleEndian, low.littleEndian,
    ]
  }
}

/// The 128-bit tag of one seal.
package struct Tag: Hashable, Sendable {
  package let low: UInt64
  package let high: UInt64
  package static let byteCount = 16

  package init(low: UInt64, high: UInt64) {
    self.low = low
    self.high = high
  }

  package init(from buffer: Buffer, at offset: Int) {
    low = buffer.load(UInt64.self, at: offset)
    high = buffer.load(UInt64.self, at: offset + 8)
  }

  package func store(to buffer: Buffer, at offset: Int) {
    buffer.store(low, at: offset)
    buffer.store(high, at: offset + 8)
  }
}

/// What a seal is bound to besides its key: format version, kind and three numbers; 32 bytes.
package struct AdditionalData: Sendable {
  let words: InlineArray<4, UInt64>

  package init(kind: UInt8, _ a: UInt64, _ b: UInt64, _ c: UInt64 = 0) {
    words = [
      (UInt64(kind) << 8 | 1).littleEndian, a.littleEndian, b.littleEndian, c.littleEndian,
    ]
  }
}

/// The library failed where it must not; carries no detail about keys or data.
package enum CryptoError: Error, Hashable, Sendable {
  /// No memory for the password function (64 MiB).
  case outOfMemory
  case failed
}
