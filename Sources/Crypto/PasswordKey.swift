import Bytes
import CArgon2

/// The one cost of a password: RFC 9106's second recommended option. Nothing a user can weaken.
package enum Argon2Profile {
  package static let version: UInt32 = 0x13
  package static let memoryKiB: UInt32 = 65536
  package static let passes: UInt32 = 3
  package static let lanes: UInt32 = 4
  package static let saltSize = 16
  package static let keySize = 32
}

/// Argon2id, RFC 9106.
package enum PasswordKey {
  /// K_encryption of a password. Takes 64 MiB and a good part of a second; throws `.outOfMemory`.
  package static func derive(
    password: borrowing SecretBytes, salt: [UInt8]
  ) throws(CryptoError) -> SecretBytes {
    precondition(salt.count == Argon2Profile.saltSize)
    let none = Buffer(count: 0)
    return try argon2id(
      password: password.bytes, salt: Buffer(salt).bytes, secret: none.bytes, data: none.bytes,
      memoryKiB: Argon2Profile.memoryKiB, passes: Argon2Profile.passes,
      lanes: Argon2Profile.lanes, count: Argon2Profile.keySize)
  }

  /// With every input, for the vectors.
  static func argon2id(
    password: RawSpan, salt: RawSpan, secret: RawSpan, data: RawSpan, memoryKiB: UInt32,
    passes: UInt32, lanes: UInt32, count: Int
  ) throws(CryptoError) -> SecretBytes {
    var output = SecretBytes(count: count)
    var bytes = output.mutableBytes
    let result = unsafe password.withUnsafeBytes { password in
      unsafe salt.withUnsafeBytes { salt in
        unsafe secret.withUnsafeBytes { secret in
          unsafe data.withUnsafeBytes { data in
            unsafe bytes.withUnsafeMutableBytes { output in
              var context = unsafe argon2_context()
              unsafe context.out = output.baseAddress?.assumingMemoryBound(to: UInt8.self)
              unsafe context.outlen = UInt32(output.count)
              unsafe context.pwd = input(password)
              unsafe context.pwdlen = UInt32(password.count)
              unsafe context.salt = input(salt)
              unsafe context.saltlen = UInt32(salt.count)
              unsafe context.secret = input(secret)
              unsafe context.secretlen = UInt32(secret.count)
              unsafe context.ad = input(data)
              unsafe context.adlen = UInt32(data.count)
              unsafe context.t_cost = passes
              unsafe context.m_cost = memoryKiB
              unsafe context.lanes = lanes
              unsafe context.threads = lanes
              unsafe context.version = Argon2Profile.version
              return unsafe argon2_ctx(&context, Argon2_id)
            }
          }
        }
      }
    }
    if result == ARGON2_MEMORY_ALLOCATION_ERROR.rawValue { throw .outOfMemory }
    guard result == ARGON2_OK.rawValue else { throw .failed }
    return output
  }

  @unsafe
  private static func input(_ bytes: UnsafeRawBufferPointer) -> UnsafeMutablePointer<UInt8>? {
    guard bytes.count > 0, let base = bytes.baseAddress else { return nil }
    return unsafe UnsafeMutablePointer(mutating: base.assumingMemoryBound(to: UInt8.self))
  }
}
