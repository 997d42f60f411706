import Bytes
import TestKit
import Testing

@testable import Crypto

/// The bytes of a secret, which a test may look at.
func reveal(_ secret: borrowing SecretBytes) -> [UInt8] { array(secret.bytes) }

func secret(_ bytes: [UInt8]) -> SecretBytes {
  let buffer = Buffer(bytes)
  return SecretBytes(copying: buffer.bytes)
}

@Suite struct DerivationTests {
  /// RFC 9106, 5.3.
  @Test func argon2idIsThatOfTheRFC() throws {
    let password = Buffer([UInt8](repeating: 1, count: 32))
    let salt = Buffer([UInt8](repeating: 2, count: 16))
    let pepper = Buffer([UInt8](repeating: 3, count: 8))
    let data = Buffer([UInt8](repeating: 4, count: 12))
    let key = try PasswordKey.argon2id(
      password: password.bytes, salt: salt.bytes, secret: pepper.bytes, data: data.bytes,
      memoryKiB: 32, passes: 3, lanes: 4, count: 32)
    #expect(
      hex(reveal(key)) == "0d640df58d78766c08c037a34a8b53c9d01ef0452d75b65eb52520e96b01e659")
  }

  @Test func aPasswordGivesItsKeyAndNoOther() throws {
    let salt = [UInt8](repeating: 9, count: 16)
    let one = try PasswordKey.derive(password: secret([1, 2, 3]), salt: salt)
    let again = try PasswordKey.derive(password: secret([1, 2, 3]), salt: salt)
    let other = try PasswordKey.derive(password: secret([1, 2, 4]), salt: salt)
    var otherSalt = salt
    otherSalt[15] ^= 1
    let salted = try PasswordKey.derive(password: secret([1, 2, 3]), salt: otherSalt)
    #expect(reveal(one) == reveal(again))
    #expect(Set([reveal(one), reveal(other), reveal(salted)]).count == 3)
    #expect(one.count == 32)
  }

  @Test func theCostIsTheRFCsSecondOption() {
    #expect(Argon2Profile.memoryKiB == 64 * 1024)
    #expect(Argon2Profile.passes == 3)
    #expect(Argon2Profile.lanes == 4)
  }

  struct HKDFVector: Sendable {
    let name: String
    let key: [UInt8]
    let salt: [UInt8]
    let info: [UInt8]
    let output: String
  }

  /// RFC 5869, A.1 to A.3.
  static let vectors = [
    HKDFVector(
      name: "A.1", key: [UInt8](repeating: 0x0b, count: 22), salt: Array(0x00...0x0c),
      info: Array(0xf0...0xf9),
      output: "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf"
        + "34007208d5b887185865"),
    HKDFVector(
      name: "A.2", key: Array(0x00...0x4f), salt: Array(0x60...0xaf), info: Array(0xb0...0xff),
      output: "b11e398dc80327a1c8e7f78c596a49344f012eda2d4efad8a050cc4c19afa97c"
        + "59045a99cac7827271cb41c65e590e09da3275600c2f09b8367793a9aca3db71"
        + "cc30c58179ec3e87c14c01d5c1f3434f1d87"),
    HKDFVector(
      name: "A.3", key: [UInt8](repeating: 0x0b, count: 22), salt: [], info: [],
      output: "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d"
        + "9d201395faa4b61a96c8"),
  ]

  @Test(arguments: vectors)
  func hkdfIsThatOfTheRFC(_ vector: HKDFVector) {
    let salt = Buffer(vector.salt)
    let info = Buffer(vector.info)
    let output = KeyDerivation.hkdf(
      key: secret(vector.key), salt: salt.bytes, info: info.bytes,
      count: vector.output.utf8.count / 2)
    #expect(hex(reveal(output)) == vector.output)
  }

  @Test func everyPurposeHasItsOwnKey() {
    let master = SecretBytes(random: 32)
    var keys: Set<[UInt8]> = []
    for label in KeyLabel.allCases {
      for vault in [[UInt8](repeating: 0, count: 16), [UInt8](repeating: 1, count: 16)] {
        for context in [0, 1] as [UInt8] {
          let context = Buffer([UInt8](repeating: context, count: 32))
          let key = KeyDerivation.derive(
            label, from: master, vault: vault, context: context.bytes)
          keys.insert(reveal(key))
          let other = DerivationKey(master: master, vault: vault)
          #expect(reveal(other.derive(label, context: context.bytes)) == reveal(key))
        }
      }
    }
    #expect(keys.count == KeyLabel.allCases.count * 4)
  }
}
