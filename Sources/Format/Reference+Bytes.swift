package import Bytes

extension Reference {
  /// Reads the 32 bytes at an offset: slot, IV (high 8, low 4), tag (low 8, high 8).
  package init(from buffer: Buffer, at offset: Int) {
    self.init(
      slot: buffer.load(UInt32.self, at: offset),
      ivHigh: buffer.load(UInt64.self, at: offset + 4),
      ivLow: buffer.load(UInt32.self, at: offset + 12),
      tagLow: buffer.load(UInt64.self, at: offset + 16),
      tagHigh: buffer.load(UInt64.self, at: offset + 24))
  }

  package func store(to buffer: Buffer, at offset: Int) {
    buffer.store(slot, at: offset)
    buffer.store(ivHigh, at: offset + 4)
    buffer.store(ivLow, at: offset + 12)
    buffer.store(tagLow, at: offset + 16)
    buffer.store(tagHigh, at: offset + 24)
  }
}
