package import Bytes

extension Configuration {
  /// Why a page is no configuration.
  package enum Problem: Error, Hashable, Sendable {
    /// Not what any version writes.
    case malformed
    /// Of a version, or with a feature, that this program does not know.
    case unsupported
  }

  /// Whether a page names a version or a feature this program does not know; to be asked of a page
  /// whose checksum is good, before anything else in it is believed.
  package static func isUnsupported(_ page: Buffer) -> Bool {
    guard page.count == size, page.load(UInt64.self, at: 0) == magic else { return false }
    return page.load(UInt32.self, at: 8) != Layout.version || page.load(UInt32.self, at: 12) != 0
  }

  /// Total: any 4096 bytes give a configuration or a problem, and only what `encoded` writes is
  /// taken.
  package init(decoding page: Buffer) throws(Problem) {
    guard page.count == Self.size else { throw .malformed }
    if Self.isUnsupported(page) { throw .unsupported }
    var reader = ByteReader(page)
    guard reader.uint64() == Self.magic, reader.uint32() == Layout.version, reader.uint32() == 0,
      let vault = reader.bytes(16), let generation = reader.uint64(), generation > 0,
      generation < 1 << 62,
      let version = reader.uint32(), let memory = reader.uint32(), let passes = reader.uint32(),
      let lanes = reader.uint32(), reader.uint64() == 0
    else { throw .malformed }
    self.init(
      vault: vault, generation: generation,
      cost: PasswordCost(version: version, memoryKiB: memory, passes: passes, lanes: lanes))
    for index in slots.indices { slots[index] = try Self.slot(&reader, page, generation) }
    guard let rest = reader.range(Self.macOffset - reader.offset), page.isZero(rest),
      let mac = reader.bytes(32)
    else { throw .malformed }
    self.mac = mac
  }

  private static func slot(
    _ reader: inout ByteReader, _ page: Buffer, _ newest: UInt64
  ) throws(Problem) -> KeySlot? {
    let start = reader.offset
    guard let state = reader.uint8(), let kind = reader.uint8(),
      reader.bytes(6) == [0, 0, 0, 0, 0, 0],
      let generation = reader.uint64(), let salt = reader.bytes(16),
      let commitment = reader.bytes(32), let iv = reader.bytes(12), let key = reader.bytes(32),
      let tag = reader.bytes(16), reader.uint32() == 0
    else { throw .malformed }
    if state == 0 {
      guard page.isZero(start..<(start + 128)) else { throw .malformed }
      return nil
    }
    guard state == 1, let kind = KeySlot.Kind(rawValue: kind), generation > 0, generation <= newest
    else { throw .malformed }
    return KeySlot(
      kind: kind, generation: generation, salt: salt, commitment: commitment, iv: iv,
      sealedKey: key, tag: tag)
  }

  /// What the envelope in a slot is bound to: the slot's own public fields and place, the format,
  /// the vault and the cost.
  package func additionalData(of slot: KeySlot, at index: Int) -> Buffer {
    var writer = ByteWriter(capacity: 128)
    writer.integer(Layout.version)
    writer.integer(UInt32(0))
    writer.bytes(vault)
    for number in [cost.version, cost.memoryKiB, cost.passes, cost.lanes] { writer.integer(number) }
    writer.integer(UInt32(index))
    writer.integer(UInt32(slot.kind.rawValue))
    writer.integer(slot.generation)
    writer.bytes(slot.salt)
    writer.bytes(slot.commitment)
    writer.bytes(slot.iv)
    precondition(writer.count == 116)
    writer.zeros(12)
    return writer.buffer
  }
}
