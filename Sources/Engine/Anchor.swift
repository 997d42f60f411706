import Bytes
package import Crypto
import Disk
import Format
import POSIX

/// What this machine remembers of the newest root it has seen.
package struct AnchorRecord: Hashable, Sendable {
  package var generation: UInt64
  package var session: [UInt8]
  package var rootTag: Tag
  package var configurationGeneration: UInt64
}

/// The anchor's file: two halves of 4096 bytes, written in turn, sealed.
///
/// A half is: counter 8, configuration generation 8 (also sealed, here to be read without a key),
/// IV 12, zero 4, tag 16, ciphertext 56, zeros.
struct AnchorFile {
  private static let halfSize = 4096
  private static let plainSize = 56
  private let disk: any Disk
  private let name: String
  private let key: SealingKey
  private let vault: [UInt8]

  init(disk: any Disk, master: borrowing SecretBytes, vault: [UInt8]) {
    self.disk = disk
    self.vault = vault
    name = Self.name(of: vault)
    let zero = Buffer(count: 32)
    key = SealingKey(
      KeyDerivation.derive(.anchor, from: master, vault: vault, context: zero.bytes))
  }

  static func name(of vault: [UInt8]) -> String {
    vault.map { byte in
      let digits = String(byte, radix: 16)
      return digits.count == 1 ? "0" + digits : digits
    }.joined() + ".anchor"
  }

  enum Found {
    case nothing
    /// Neither half is true, or it is no file.
    case damaged
    case known(AnchorRecord, counter: UInt64)
  }

  /// The newest half that is true. Zeros alone are what a crash leaves before the first is written.
  func read() -> Found {
    let file: any DiskFile
    do { file = try disk.open(name, writable: false) } catch {
      return error.errno == .noSuchFile ? .nothing : .damaged
    }
    let halves = [0, 1].compactMap { half(in: file, $0) }
    if let newest = halves.max(by: { $0.counter < $1.counter }) {
      return .known(newest.record, counter: newest.counter)
    }
    let bytes = Buffer(count: 2 * Self.halfSize)
    var span = bytes.mutableBytes(in: 0..<bytes.count)
    guard (try? file.read(into: &span, at: 0)) != nil, bytes.isZero(0..<bytes.count) else {
      return .damaged
    }
    return .nothing
  }

  private func half(in file: any DiskFile, _ index: UInt64) -> (
    record: AnchorRecord, counter: UInt64
  )? {
    let bytes = Buffer(count: Self.halfSize)
    var span = bytes.mutableBytes(in: 0..<Self.halfSize)
    guard let count = try? file.read(into: &span, at: index * UInt64(Self.halfSize)),
      count == Self.halfSize
    else { return nil }
    let counter = bytes.load(UInt64.self, at: 0)
    let plain = Buffer(count: Self.plainSize)
    guard
      key.open(
        bytes, 48..<(48 + Self.plainSize), into: plain, at: 0, iv: IV(from: bytes, at: 16),
        tag: Tag(from: bytes, at: 32),
        additional: AdditionalData(kind: SealedKind.anchor, counter, index))
    else { return nil }
    let record = AnchorRecord(
      generation: plain.load(UInt64.self, at: 0), session: plain.load(8..<24),
      rootTag: Tag(from: plain, at: 24),
      configurationGeneration: plain.load(UInt64.self, at: 40))
    // One more than each is written next.
    guard counter < 1 << 62, record.generation < 1 << 62,
      record.configurationGeneration < 1 << 62
    else { return nil }
    return (record, counter)
  }

  /// Writes a half and syncs it; the other half keeps the state before.
  func write(_ record: AnchorRecord, counter: UInt64) throws(DiskError) {
    let plain = Buffer(count: Self.plainSize)
    plain.store(record.generation, at: 0)
    plain.store(record.session, at: 8)
    record.rootTag.store(to: plain, at: 24)
    plain.store(record.configurationGeneration, at: 40)
    let bytes = Buffer(count: Self.halfSize)
    bytes.store(counter, at: 0)
    bytes.store(record.configurationGeneration, at: 8)
    let index = counter % 2
    let iv = Random.iv()
    iv.store(to: bytes, at: 16)
    let tag = key.seal(
      plain, 0..<Self.plainSize, into: bytes, at: 48, iv: iv,
      additional: AdditionalData(kind: SealedKind.anchor, counter, index))
    tag.store(to: bytes, at: 32)
    let file: any DiskFile
    do { file = try disk.open(name, writable: true) } catch {
      guard error.errno == .noSuchFile || error.displaced != nil else { throw error }
      if error.displaced != nil { try disk.remove(name) }
      file = try disk.create(name)
      try file.allocate(0..<UInt64(2 * Self.halfSize))
      try disk.syncFolder("")
    }
    try file.write(bytes.bytes, at: index * UInt64(Self.halfSize))
    try file.sync()
  }
}
