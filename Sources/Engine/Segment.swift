package import Bytes
package import Crypto
import Disk
package import Format

/// The keys of one journal segment, and how a frame looks on disk.
///
///     0  marker 8    keyed hash of segment and offset: where a frame may be
///     8  length 4    of the ciphertext, in bytes
///     12 zero 4
///     16 IV 12
///     28 zero 4
///     32 tag 16
///     48 ciphertext, to the next multiple of 512
///
/// The plaintext is sequence 8, tag of the previous frame 16, last sequence known durable 8,
/// records, zeros. It ends where the frame ends, so that its length does not tell that of a name.
package final class SegmentCodec: Sendable {
  package static let headerSize = 48
  package static let preludeSize = 32
  /// Lengths a frame's payload may have.
  private static let payloadSizes = preludeSize...payloadSize(Journal.maximumPayload)
  package let name: SegmentName
  private let key: SealingKey
  private let markers: KeyedHash

  package init(_ name: SegmentName, master: borrowing SecretBytes, vault: [UInt8]) {
    self.name = name
    let seed = Buffer(name.seed)
    key = SealingKey(
      KeyDerivation.derive(.journal, from: master, vault: vault, context: seed.bytes))
    let secret = KeyDerivation.derive(
      .journalMarker, from: master, vault: vault, context: seed.bytes)
    markers = KeyedHash(key: secret)
  }

  package static func fileName(_ number: UInt64) -> String {
    let digits = String(number, radix: 16)
    return "journal/" + String(repeating: "0", count: 16 - digits.count) + digits
  }

  /// The number in a segment's name; nil for a name that is none.
  package static func number(ofFile name: String) -> UInt64? {
    guard let number = UInt64(name.dropFirst("journal/".count), radix: 16),
      number < 1 << 62, fileName(number) == name
    else { return nil }
    return number
  }

  package static func paddedSize(_ payload: Int) -> Int {
    let size = headerSize + payload
    return (size + Layout.frameAlignment - 1) / Layout.frameAlignment * Layout.frameAlignment
  }

  /// The bytes of a payload with the zeros that fill its frame.
  package static func payloadSize(_ length: Int) -> Int { paddedSize(length) - headerSize }

  /// Seals a payload into a frame for an offset. Returns its padded size and tag.
  package func seal(_ payload: Buffer, _ length: Int, at offset: UInt64, into frame: Buffer) -> Tag
  {
    precondition(Self.payloadSizes.contains(length), "what no reader would look at")
    let size = Self.paddedSize(length)
    frame.zero((Self.headerSize + length)..<size)
    frame.zero(0..<Self.headerSize)
    frame.store(marker(at: offset), at: 0)
    frame.store(UInt32(length), at: 8)
    let iv = Random.iv()
    iv.store(to: frame, at: 16)
    let tag = key.seal(
      payload, 0..<length, into: frame, at: Self.headerSize, iv: iv,
      additional: additional(offset, length))
    tag.store(to: frame, at: 32)
    return tag
  }

  /// The plaintext of the frame at an offset of a segment held in memory; nil if none
  /// authenticates.
  ///
  /// The length comes first: at nearly every place that is no frame's it is none that `seal` takes,
  /// which costs nothing to see. The order of the conditions changes no answer.
  package func open(_ segment: Buffer, at offset: Int) -> (payload: Buffer, size: Int, tag: Tag)? {
    guard offset + Self.headerSize <= segment.count else { return nil }
    let length = Int(segment.load(UInt32.self, at: offset + 8))
    guard Self.payloadSizes.contains(length), length <= segment.count - offset - Self.headerSize,
      segment.load(UInt64.self, at: offset) == marker(at: UInt64(offset))
    else { return nil }
    let payload = Buffer(count: length)
    let tag = Tag(from: segment, at: offset + 32)
    let start = offset + Self.headerSize
    guard
      key.open(
        segment, start..<(start + length), into: payload, at: 0,
        iv: IV(from: segment, at: offset + 16), tag: tag,
        additional: additional(UInt64(offset), length))
    else { return nil }
    return (payload, Self.paddedSize(length), tag)
  }

  private func additional(_ offset: UInt64, _ length: Int) -> AdditionalData {
    AdditionalData(kind: SealedKind.frame, name.number, offset, UInt64(length))
  }

  private func marker(at offset: UInt64) -> UInt64 {
    let text = Buffer(count: 16)
    text.store(name.number, at: 0)
    text.store(offset, at: 8)
    return markers.hash(text.load(0..<16))
  }
}
