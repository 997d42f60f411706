import CCrypto
import Synchronization

/// An OpenSSL context of AES-256-GCM, EVP_EncryptInit(3), that seals only or opens only.
///
/// It keeps the schedule of the key used last: setting a key costs as much as a kilobyte. Except
/// for `holds`, whoever calls has it to himself, see `ThreadContexts`.
@safe
struct CipherContext: ~Copyable, @unchecked Sendable {
  private let context: OpaquePointer
  /// The key whose schedule is in the context; 0 for none. Changes only after the schedule did.
  private let key = Atomic<UInt64>(0)
  private static let cipher = Cipher()

  /// Fetched once: a fetch takes locks and compares strings.
  @safe private final class Cipher: @unchecked Sendable {
    let pointer: OpaquePointer
    init() {
      guard let cipher = unsafe EVP_CIPHER_fetch(nil, "AES-256-GCM", nil) else {
        preconditionFailure("OpenSSL has AES-256-GCM")
      }
      unsafe pointer = cipher
    }
  }

  init() {
    guard let new = unsafe EVP_CIPHER_CTX_new() else { preconditionFailure("no memory") }
    unsafe context = new
  }

  /// Cleanses, too.
  deinit { unsafe EVP_CIPHER_CTX_free(context) }

  func holds(_ wanted: UInt64) -> Bool { key.load(ordering: .acquiring) == wanted }

  /// Cleanses the schedule of a key, or of any, EVP_CIPHER_CTX_reset(3).
  func wipe(_ wanted: UInt64?) {
    if let wanted, !holds(wanted) { return }
    let good = unsafe EVP_CIPHER_CTX_reset(context)
    precondition(good == 1, "a context can be reset")
    key.store(0, ordering: .releasing)
  }

  @unsafe
  func encrypt(
    _ plain: UnsafeRawBufferPointer, _ sealed: UnsafeMutableRawPointer?,
    _ tag: UnsafeMutableRawPointer?, _ additional: UnsafeRawBufferPointer
  ) {
    var length: Int32 = 0
    var good: Int32 = 1
    if additional.count > 0 {
      good = unsafe EVP_EncryptUpdate(
        context, nil, &length, additional.baseAddress?.assumingMemoryBound(to: UInt8.self),
        Int32(additional.count))
    }
    if good == 1, plain.count > 0 {
      good = unsafe EVP_EncryptUpdate(
        context, sealed?.assumingMemoryBound(to: UInt8.self), &length,
        plain.baseAddress?.assumingMemoryBound(to: UInt8.self), Int32(plain.count))
    }
    if good == 1 {
      var rest: UInt8 = 0
      good = unsafe EVP_EncryptFinal_ex(context, &rest, &length)
    }
    if good == 1 { good = unsafe EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, 16, tag) }
    precondition(good == 1, "sealing cannot fail")
  }

  /// False if the tag is not that of these bytes; the output is not to be used then.
  @unsafe
  func decrypt(
    _ sealed: UnsafeRawBufferPointer, _ plain: UnsafeMutableRawPointer?,
    _ tag: UnsafeRawPointer?, _ additional: UnsafeRawBufferPointer
  ) -> Bool {
    var length: Int32 = 0
    var good: Int32 = 1
    if additional.count > 0 {
      good = unsafe EVP_DecryptUpdate(
        context, nil, &length, additional.baseAddress?.assumingMemoryBound(to: UInt8.self),
        Int32(additional.count))
    }
    if good == 1, sealed.count > 0 {
      good = unsafe EVP_DecryptUpdate(
        context, plain?.assumingMemoryBound(to: UInt8.self), &length,
        sealed.baseAddress?.assumingMemoryBound(to: UInt8.self), Int32(sealed.count))
    }
    precondition(good == 1, "decrypting cannot fail before the tag is checked")
    unsafe EVP_CIPHER_CTX_ctrl(
      context, EVP_CTRL_AEAD_SET_TAG, 16, UnsafeMutableRawPointer(mutating: tag))
    var rest: UInt8 = 0
    return unsafe EVP_DecryptFinal_ex(context, &rest, &length) == 1
  }

  /// Sets the IV, and the key where another one is there. A new schedule overwrites the old one.
  @unsafe
  func begin(
    sealing: Bool, key new: UInt64, _ secret: borrowing SecretBytes, iv: UnsafeRawPointer?
  ) {
    let iv = unsafe iv?.assumingMemoryBound(to: UInt8.self)
    let old = key.load(ordering: .relaxed)
    if old == new { return unsafe initialize(sealing, nil, nil, iv) }
    unsafe secret.bytes.withUnsafeBytes { bytes in
      let bytes = unsafe bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
      // With a cipher, OpenSSL would make everything anew.
      unsafe initialize(sealing, old == 0 ? Self.cipher.pointer : nil, bytes, iv)
    }
    key.store(new, ordering: .releasing)
  }

  @unsafe
  private func initialize(
    _ sealing: Bool, _ cipher: OpaquePointer?, _ key: UnsafePointer<UInt8>?,
    _ iv: UnsafePointer<UInt8>?
  ) {
    let good =
      sealing
      ? unsafe EVP_EncryptInit_ex2(context, cipher, key, iv, nil)
      : unsafe EVP_DecryptInit_ex2(context, cipher, key, iv, nil)
    precondition(good == 1, "a key of 32 bytes and an IV of 12 can be set")
  }
}
