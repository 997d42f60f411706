import Bytes
import CCrypto

/// What a key is for: the first 16 bytes of its HKDF info.
package enum KeyLabel: String, CaseIterable, Sendable {
  case file = "coffre/file"
  case metadata = "coffre/metadata"
  case root = "coffre/root"
  case journal = "coffre/journal"
  case journalMarker = "coffre/marker"
  case anchor = "coffre/anchor"
  case envelope = "coffre/envelope"
  case commitment = "coffre/commit"
  case directoryHash = "coffre/names"
  case configuration = "coffre/config"
  case document = "coffre/document"
  case note = "coffre/note"

  /// The label, zeros up to 16 bytes.
  var bytes: [UInt8] {
    let text = Array(rawValue.utf8)
    precondition(text.count <= 16)
    return text + [UInt8](repeating: 0, count: 16 - text.count)
  }
}

/// HKDF-SHA256, RFC 5869.
package enum KeyDerivation {
  /// A key for one purpose: salt is the vault's id, info is the label and 32 bytes of context.
  package static func derive(
    _ label: KeyLabel, from master: borrowing SecretBytes, vault: [UInt8], context: RawSpan
  ) -> SecretBytes {
    precondition(vault.count == 16)
    let info = info(label, context)
    let salt = Buffer(vault)
    return hkdf(key: master, salt: salt.bytes, info: info.bytes, count: 32)
  }

  /// What HKDF's info says a key is for, and behind it what else goes into the same hash.
  fileprivate static func info(_ label: KeyLabel, _ context: RawSpan, then rest: [UInt8] = [])
    -> Buffer
  {
    precondition(context.byteCount == 32)
    let info = Buffer(count: 48 + rest.count)
    info.store(label.bytes, at: 0)
    info.store(context, at: 16)
    info.store(rest, at: 48)
    return info
  }

  package static func hkdf(
    key: borrowing SecretBytes, salt: RawSpan, info: RawSpan, count: Int
  ) -> SecretBytes {
    var output = SecretBytes(count: count)
    var bytes = output.mutableBytes
    let good = unsafe key.bytes.withUnsafeBytes { key in
      unsafe salt.withUnsafeBytes { salt in
        unsafe info.withUnsafeBytes { info in
          unsafe bytes.withUnsafeMutableBytes { output in
            unsafe run(key, salt, info, output)
          }
        }
      }
    }
    precondition(good, "HKDF-SHA256 cannot fail")
    return output
  }

  @unsafe
  private static func run(
    _ key: UnsafeRawBufferPointer, _ salt: UnsafeRawBufferPointer,
    _ info: UnsafeRawBufferPointer, _ output: UnsafeMutableRawBufferPointer
  ) -> Bool {
    guard let kdf = unsafe EVP_KDF_fetch(nil, "HKDF", nil) else { return false }
    defer { unsafe EVP_KDF_free(kdf) }
    guard let context = unsafe EVP_KDF_CTX_new(kdf) else { return false }
    defer { unsafe EVP_KDF_CTX_free(context) }
    // The library keeps these pointers until the call below: static strings live long enough.
    let digest: StaticString = "SHA256"
    func text(_ name: StaticString) -> UnsafePointer<CChar> {
      unsafe UnsafeRawPointer(name.utf8Start).assumingMemoryBound(to: CChar.self)
    }
    var parameters = unsafe [
      OSSL_PARAM_construct_utf8_string(
        text("digest"), UnsafeMutablePointer(mutating: text(digest)), 0),
      OSSL_PARAM_construct_octet_string(
        text("key"), UnsafeMutableRawPointer(mutating: key.baseAddress), key.count),
      OSSL_PARAM_construct_octet_string(
        text("info"), UnsafeMutableRawPointer(mutating: info.baseAddress), info.count),
    ]
    if salt.count > 0 {
      unsafe parameters.append(
        OSSL_PARAM_construct_octet_string(
          text("salt"), UnsafeMutableRawPointer(mutating: salt.baseAddress), salt.count))
    }
    unsafe parameters.append(OSSL_PARAM_construct_end())
    return unsafe EVP_KDF_derive(
      context, output.baseAddress?.assumingMemoryBound(to: UInt8.self), output.count,
      parameters) == 1
  }
}

/// What HKDF extracts of a vault's master key, RFC 5869 section 2.2: keys are expanded from it, one
/// HMAC each.
package final class DerivationKey: Sendable {
  private let extracted: KeyedHash

  package init(master: borrowing SecretBytes, vault: [UInt8]) {
    precondition(vault.count == 16)
    let salt = unsafe SecretBytes(copying: vault.span.bytes)
    var key = SecretBytes(count: 32)
    var output = key.mutableBytes
    KeyedHash(key: salt).digest(master.bytes, into: &output)
    extracted = KeyedHash(key: key)
  }

  /// The same key as `KeyDerivation.derive`.
  package func derive(_ label: KeyLabel, context: RawSpan) -> SecretBytes {
    let info = KeyDerivation.info(label, context, then: [1])
    var key = SecretBytes(count: 32)
    var output = key.mutableBytes
    extracted.digest(info.bytes, into: &output)
    return key
  }
}
