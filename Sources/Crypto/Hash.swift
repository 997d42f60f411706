import Bytes
import CCrypto
import Glibc
import POSIX

package enum Hash {
  /// HMAC-SHA256, FIPS 198-1, once. For many under one key there is `KeyedHash`.
  package static func hmacSHA256(key: borrowing SecretBytes, _ message: RawSpan) -> [UInt8] {
    var digest = [UInt8](repeating: 0, count: 32)
    var length: UInt32 = 0
    let good = unsafe key.bytes.withUnsafeBytes { key in
      unsafe message.withUnsafeBytes { message in
        unsafe HMAC(
          EVP_sha256(), key.baseAddress, Int32(key.count),
          message.baseAddress?.assumingMemoryBound(to: UInt8.self), message.count, &digest,
          &length) != nil
      }
    }
    precondition(good && length == 32, "HMAC-SHA256 cannot fail")
    return digest
  }

  /// SHA-256, FIPS 180-4: a checksum, never a proof.
  package static func sha256(_ message: RawSpan) -> [UInt8] {
    var digest = [UInt8](repeating: 0, count: 32)
    var length: UInt32 = 0
    let good = unsafe message.withUnsafeBytes { message in
      unsafe EVP_Digest(message.baseAddress, message.count, &digest, &length, EVP_sha256(), nil)
    }
    precondition(good == 1 && length == 32, "SHA-256 cannot fail")
    return digest
  }
}

/// Compares secrets without telling by time where they differ.
package func constantTimeEqual(_ left: RawSpan, _ right: RawSpan) -> Bool {
  guard left.byteCount == right.byteCount else { return false }
  return unsafe left.withUnsafeBytes { left in
    unsafe right.withUnsafeBytes { right in
      unsafe CRYPTO_memcmp(left.baseAddress, right.baseAddress, left.count) == 0
    }
  }
}
