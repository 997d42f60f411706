package import Bytes

/// One of the eight places for the master key, wrapped for one secret; 128 bytes.
///
/// On disk: state 1 (0 free, 1 in use), kind 1, zeros 6, generation 8, salt 16, commitment 32, IV
/// 12, sealed master key 32, tag 16, zeros 4. A free slot is all zeros.
package struct KeySlot: Hashable, Sendable {
  package enum Kind: UInt8, Sendable { case password = 1 }

  package var kind: Kind
  /// The generation of the configuration that this slot was written with.
  package var generation: UInt64
  package var salt: [UInt8]
  /// Tells a wrong password from damage: derived from the key the envelope is sealed with.
  package var commitment: [UInt8]
  package var iv: [UInt8]
  package var sealedKey: [UInt8]
  package var tag: [UInt8]

  package init(
    kind: Kind, generation: UInt64, salt: [UInt8], commitment: [UInt8], iv: [UInt8],
    sealedKey: [UInt8], tag: [UInt8]
  ) {
    self.kind = kind
    self.generation = generation
    self.salt = salt
    self.commitment = commitment
    self.iv = iv
    self.sealedKey = sealedKey
    self.tag = tag
  }
}

/// What a password costs, as it stands in a configuration; compared with the only profile there is.
package struct PasswordCost: Hashable, Sendable {
  package var version: UInt32
  package var memoryKiB: UInt32
  package var passes: UInt32
  package var lanes: UInt32

  package init(version: UInt32, memoryKiB: UInt32, passes: UInt32, lanes: UInt32) {
    self.version = version
    self.memoryKiB = memoryKiB
    self.passes = passes
    self.lanes = lanes
  }
}

/// The file `coffre.conf` and its twin `coffre.conf.copy`: 4096 bytes, little-endian.
///
/// | bytes      | what                                                                        |
/// | 0..<8      | magic `CFCONF1\0`                                                           |
/// | 8..<12     | format version                                                              |
/// | 12..<16    | feature flags, none yet                                                     |
/// | 16..<32    | vault id                                                                    |
/// | 32..<40    | generation: one more at each change                                         |
/// | 40..<56    | Argon2id: version, memory in KiB, passes, lanes; 4 bytes each               |
/// | 56..<64    | zeros                                                                       |
/// | 64..<1088  | 8 key slots of 128 bytes                                                    |
/// | 1088..<4032| zeros                                                                       |
/// | 4032..<4064| HMAC-SHA256 of all before, under a key of the master key                    |
/// | 4064..<4096| SHA-256 of all before: damage by accident shows without any password        |
///
/// Magic, version and checksum stay where they are in every later version.
package struct Configuration: Hashable, Sendable {
  package static let size = 4096
  package static let slotCount = 8
  package static let macOffset = 4032
  package static let checksumOffset = 4064
  package static let fileName = "coffre.conf"
  package static let copyName = "coffre.conf.copy"
  package static let newName = "coffre.conf.new"

  package var vault: [UInt8]
  package var generation: UInt64
  package var cost: PasswordCost
  /// Eight; nil is a free one.
  package var slots: [KeySlot?]
  package var mac = [UInt8](repeating: 0, count: 32)

  package init(vault: [UInt8], generation: UInt64, cost: PasswordCost) {
    self.vault = vault
    self.generation = generation
    self.cost = cost
    slots = [KeySlot?](repeating: nil, count: Self.slotCount)
  }

  static let magic: UInt64 = 0x0031_464e_4f43_4643  // "CFCONF1\0"

  /// The page; the checksum's place is left zero, as hashing is not this module's.
  package func encoded() -> Buffer {
    precondition(vault.count == 16 && slots.count == Self.slotCount && mac.count == 32)
    var writer = ByteWriter(capacity: Self.size)
    writer.integer(Self.magic)
    writer.integer(Layout.version)
    writer.integer(UInt32(0))
    writer.bytes(vault)
    writer.integer(generation)
    for number in [cost.version, cost.memoryKiB, cost.passes, cost.lanes] { writer.integer(number) }
    writer.zeros(8)
    for slot in slots { Self.write(slot, to: &writer) }
    writer.zeros(Self.macOffset - writer.count)
    writer.bytes(mac)
    writer.zeros(Self.size - writer.count)
    return writer.buffer
  }

  private static func write(_ slot: KeySlot?, to writer: inout ByteWriter) {
    guard let slot else { return writer.zeros(128) }
    precondition(slot.salt.count == 16 && slot.commitment.count == 32 && slot.iv.count == 12)
    precondition(slot.sealedKey.count == 32 && slot.tag.count == 16)
    writer.integer(UInt8(1))
    writer.integer(slot.kind.rawValue)
    writer.zeros(6)
    writer.integer(slot.generation)
    writer.bytes(slot.salt)
    writer.bytes(slot.commitment)
    writer.bytes(slot.iv)
    writer.bytes(slot.sealedKey)
    writer.bytes(slot.tag)
    writer.zeros(4)
  }
}
