import CCrypto
import CSystem
import Synchronization

/// A key of AES-256-GCM, NIST SP 800-38D, with 96-bit IVs and 128-bit tags.
///
/// Each thread keeps one OpenSSL context for sealing and one for opening, and sets the key anew
/// only when another key was used last: a new context costs as much as a chunk.
@safe
package final class SealingKey: Sendable {
  private let secret: SecretBytes
  private let identity: UInt64
  private static let identities = Atomic<UInt64>(1)
  private static let epoch = Atomic<UInt64>(1)
  private static let cipher = Cipher()

  @safe private final class Cipher: @unchecked Sendable {
    let pointer: OpaquePointer
    init() {
      guard let cipher = unsafe EVP_CIPHER_fetch(nil, "AES-256-GCM", nil) else {
        preconditionFailure("OpenSSL has AES-256-GCM")
      }
      unsafe pointer = cipher
    }
  }

  package init(_ secret: consuming SecretBytes) {
    precondition(secret.count == 32)
    self.secret = secret
    identity = Self.identities.add(1, ordering: .relaxed).newValue
  }

  /// Makes every thread drop its contexts, and so cleanse the keys in them, at its next use; at
  /// once in this one.
  package static func forgetContexts() {
    epoch.add(1, ordering: .relaxed)
    for index in 0..<2 {
      guard let slot = unsafe coffre_thread_slot(Int32(index), freeContext) else { continue }
      if let value = unsafe slot.pointee.value { unsafe freeContext(value) }
      unsafe slot.pointee.value = nil
    }
  }

  /// Seals; `sealed` is as long as `plain` and may be the same memory.
  package func seal(
    _ plain: RawSpan, into sealed: inout MutableRawSpan, iv: RawSpan, tag: inout MutableRawSpan,
    additional: RawSpan
  ) {
    precondition(iv.byteCount == 12 && tag.byteCount == 16)
    precondition(sealed.byteCount == plain.byteCount)
    unsafe plain.withUnsafeBytes { plain in
      unsafe sealed.withUnsafeMutableBytes { sealed in
        unsafe iv.withUnsafeBytes { iv in
          unsafe tag.withUnsafeMutableBytes { tag in
            unsafe additional.withUnsafeBytes { additional in
              unsafe encrypt(
                plain, sealed.baseAddress, iv.baseAddress, tag.baseAddress, additional)
            }
          }
        }
      }
    }
  }

  /// Opens; false, with the output wiped, if anything was altered. Why is not told.
  package func open(
    _ sealed: RawSpan, into plain: inout MutableRawSpan, iv: RawSpan, tag: RawSpan,
    additional: RawSpan
  ) -> Bool {
    precondition(iv.byteCount == 12 && tag.byteCount == 16)
    precondition(sealed.byteCount == plain.byteCount)
    return unsafe sealed.withUnsafeBytes { sealed in
      unsafe plain.withUnsafeMutableBytes { plain in
        unsafe iv.withUnsafeBytes { iv in
          unsafe tag.withUnsafeBytes { tag in
            unsafe additional.withUnsafeBytes { additional in
              unsafe decrypt(
                sealed, plain.baseAddress, iv.baseAddress, tag.baseAddress, additional)
            }
          }
        }
      }
    }
  }

  // MARK: - The fence

  @unsafe
  private func encrypt(
    _ plain: UnsafeRawBufferPointer, _ sealed: UnsafeMutableRawPointer?,
    _ iv: UnsafeRawPointer?, _ tag: UnsafeMutableRawPointer?,
    _ additional: UnsafeRawBufferPointer
  ) {
    let context = unsafe context(sealing: true)
    var length: Int32 = 0
    var good = unsafe EVP_EncryptInit_ex2(
      context, nil, nil, iv?.assumingMemoryBound(to: UInt8.self), nil)
    if good == 1, additional.count > 0 {
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

  @unsafe
  private func decrypt(
    _ sealed: UnsafeRawBufferPointer, _ plain: UnsafeMutableRawPointer?,
    _ iv: UnsafeRawPointer?, _ tag: UnsafeRawPointer?, _ additional: UnsafeRawBufferPointer
  ) -> Bool {
    let context = unsafe context(sealing: false)
    var length: Int32 = 0
    var good = unsafe EVP_DecryptInit_ex2(
      context, nil, nil, iv?.assumingMemoryBound(to: UInt8.self), nil)
    if good == 1, additional.count > 0 {
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
    if unsafe EVP_DecryptFinal_ex(context, &rest, &length) == 1 { return true }
    if let plain = unsafe plain { unsafe OPENSSL_cleanse(plain, sealed.count) }
    return false
  }

  /// This thread's context, with this key in it.
  @unsafe
  private func context(sealing: Bool) -> OpaquePointer {
    guard let slot = unsafe coffre_thread_slot(sealing ? 0 : 1, freeContext) else {
      preconditionFailure("a thread has its slots")
    }
    let epoch = Self.epoch.load(ordering: .relaxed)
    if let value = unsafe slot.pointee.value, unsafe slot.pointee.epoch != epoch {
      unsafe freeContext(value)
      unsafe slot.pointee.value = nil
    }
    if let value = unsafe slot.pointee.value, unsafe slot.pointee.owner == identity {
      return OpaquePointer(value)
    }
    let context: OpaquePointer
    if let value = unsafe slot.pointee.value {
      unsafe context = OpaquePointer(value)
    } else {
      guard let new = unsafe EVP_CIPHER_CTX_new() else { preconditionFailure("no memory") }
      unsafe context = new
      unsafe slot.pointee.value = UnsafeMutableRawPointer(new)
    }
    unsafe Self.set(secret, in: context, sealing: sealing)
    unsafe slot.pointee.owner = identity
    unsafe slot.pointee.epoch = epoch
    return unsafe context
  }

  @unsafe
  private static func set(
    _ secret: borrowing SecretBytes, in context: OpaquePointer, sealing: Bool
  ) {
    let good = unsafe secret.bytes.withUnsafeBytes { key in
      let key = unsafe key.baseAddress?.assumingMemoryBound(to: UInt8.self)
      return sealing
        ? unsafe EVP_EncryptInit_ex2(context, cipher.pointer, key, nil, nil)
        : unsafe EVP_DecryptInit_ex2(context, cipher.pointer, key, nil, nil)
    }
    precondition(good == 1, "a key of 32 bytes can be set")
  }
}

private func freeContext(_ context: UnsafeMutableRawPointer?) {
  unsafe EVP_CIPHER_CTX_free(OpaquePointer(context))
}
