import CCrypto

/// A key of AES-256-GCM, NIST SP 800-38D, with 96-bit IVs and 128-bit tags.
///
/// When the last reference goes, the key is wiped and with it what every thread made of it.
@safe
package final class SealingKey: Sendable {
  private let secret: SecretBytes
  private let identity = KeyIdentity.next()

  package init(_ secret: consuming SecretBytes) {
    precondition(secret.count == 32)
    self.secret = secret
  }

  deinit { ThreadContexts.wipe(identity) }

  /// Cleanses what every thread made of any key, at once; it is made anew at the next use.
  package static func forgetContexts() { ThreadContexts.wipe(nil) }

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
    ThreadContexts.withCurrent { contexts in
      unsafe contexts.sealing.begin(sealing: true, key: identity, secret, iv: iv)
      unsafe contexts.sealing.encrypt(plain, sealed, tag, additional)
    }
  }

  @unsafe
  private func decrypt(
    _ sealed: UnsafeRawBufferPointer, _ plain: UnsafeMutableRawPointer?,
    _ iv: UnsafeRawPointer?, _ tag: UnsafeRawPointer?, _ additional: UnsafeRawBufferPointer
  ) -> Bool {
    let good = ThreadContexts.withCurrent { contexts in
      unsafe contexts.opening.begin(sealing: false, key: identity, secret, iv: iv)
      return unsafe contexts.opening.decrypt(sealed, plain, tag, additional)
    }
    if !good, let plain = unsafe plain { unsafe OPENSSL_cleanse(plain, sealed.count) }
    return good
  }
}
