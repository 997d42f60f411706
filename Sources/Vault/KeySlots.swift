import Bytes
import Crypto
import Format

/// The cryptography of the configuration: envelopes, commitments and the page's MAC.
enum KeySlots {
  /// What became of a password tried on every slot of one copy.
  struct Attempt: ~Copyable {
    /// A commitment was the password's own: it is right, whatever else is wrong.
    var matched = false
    var slot = 0
    var master: SecretBytes?
  }

  /// Tries a password on each slot in use. Takes 64 MiB and a good part of a second for each.
  static func attempt(
    _ configuration: Configuration, _ password: borrowing SecretBytes
  ) throws(VaultError) -> Attempt {
    var attempt = Attempt()
    for (index, slot) in configuration.slots.enumerated() {
      guard let slot, slot.kind == .password else { continue }
      let key = try encryptionKey(password, salt: slot.salt)
      let own = Buffer(commitment(of: key, configuration.vault))
      guard constantTimeEqual(own.bytes, Buffer(slot.commitment).bytes) else { continue }
      attempt.matched = true
      attempt.slot = index
      attempt.master = open(slot, at: index, of: configuration, key)
      if attempt.master != nil { break }
    }
    return attempt
  }

  /// A new slot for a password.
  static func seal(
    _ master: borrowing SecretBytes, password: borrowing SecretBytes,
    in configuration: Configuration, at index: Int
  ) throws(VaultError) -> KeySlot {
    precondition(master.count == 32)
    let salt = Random.bytes(Argon2Profile.saltSize)
    let key = try encryptionKey(password, salt: salt)
    var slot = KeySlot(
      kind: .password, generation: configuration.generation, salt: salt,
      commitment: commitment(of: key, configuration.vault), iv: Random.bytes(12), sealedKey: [],
      tag: [])
    let sealed = Buffer(count: 32)
    let tag = Buffer(count: 16)
    var target = sealed.mutableBytes(in: 0..<32)
    var tagTarget = tag.mutableBytes(in: 0..<16)
    envelopeKey(key, configuration.vault).seal(
      master.bytes, into: &target, iv: Buffer(slot.iv).bytes, tag: &tagTarget,
      additional: configuration.additionalData(of: slot, at: index).bytes)
    slot.sealedKey = sealed.load(0..<32)
    slot.tag = tag.load(0..<16)
    return slot
  }

  /// The MAC of a configuration: with it, slots and generation are as somebody with the master key
  /// left them.
  static func mac(of configuration: Configuration, _ master: borrowing SecretBytes) -> [UInt8] {
    let key = derive(.configuration, master, configuration.vault)
    let page = configuration.encoded()
    return Hash.hmacSHA256(key: key, page.bytes(in: 0..<Configuration.macOffset))
  }

  static func isAuthentic(_ configuration: Configuration, _ master: borrowing SecretBytes) -> Bool {
    let own = Buffer(mac(of: configuration, master))
    return constantTimeEqual(own.bytes, Buffer(configuration.mac).bytes)
  }

  // MARK: - Parts

  private static func open(
    _ slot: KeySlot, at index: Int, of configuration: Configuration, _ key: borrowing SecretBytes
  ) -> SecretBytes? {
    var master = SecretBytes(count: 32)
    var target = master.mutableBytes
    let good = envelopeKey(key, configuration.vault).open(
      Buffer(slot.sealedKey).bytes, into: &target, iv: Buffer(slot.iv).bytes,
      tag: Buffer(slot.tag).bytes,
      additional: configuration.additionalData(of: slot, at: index).bytes)
    if good { return master }
    return nil
  }

  private static func encryptionKey(
    _ password: borrowing SecretBytes, salt: [UInt8]
  ) throws(VaultError) -> SecretBytes {
    do { return try PasswordKey.derive(password: password, salt: salt) } catch {
      throw .outOfMemory
    }
  }

  private static func envelopeKey(_ key: borrowing SecretBytes, _ vault: [UInt8]) -> SealingKey {
    SealingKey(derive(.envelope, key, vault))
  }

  private static func commitment(of key: borrowing SecretBytes, _ vault: [UInt8]) -> [UInt8] {
    let secret = derive(.commitment, key, vault)
    let published = Buffer(count: 32)
    published.store(secret.bytes, at: 0)
    return published.load(0..<32)
  }

  private static func derive(
    _ label: KeyLabel, _ key: borrowing SecretBytes, _ vault: [UInt8]
  ) -> SecretBytes {
    let context = Buffer(count: 32)
    return KeyDerivation.derive(label, from: key, vault: vault, context: context.bytes)
  }
}
