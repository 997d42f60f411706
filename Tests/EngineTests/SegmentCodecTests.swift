import Bytes
import Crypto
import Format
import TestKit
import Testing

@testable import Engine

/// What is looked at before a frame is authenticated passes over none that was sealed.
@Suite struct SegmentCodecTests {
  private static let segmentBytes = 8 << 20

  private static func codec() -> SegmentCodec {
    let name = SegmentName(number: 7, seed: [UInt8](repeating: 3, count: 32))
    return SegmentCodec(
      name, master: SecretBytes(random: 32), vault: [UInt8](repeating: 1, count: 16))
  }

  /// The shortest and the longest payload, and those at the edges of a sector.
  @Test(arguments: [32, 33, 463, 464, 465, 976, 4096, Journal.maximumPayload])
  func aFrameIsFoundWhereverItIs(length: Int) throws {
    let codec = Self.codec()
    let frame = Buffer(count: SegmentCodec.paddedSize(length))
    let last = Self.segmentBytes - frame.count
    for offset in [0, 512, 4096, last / 1024 * 512, last] {
      let payload = Buffer([UInt8](repeating: 9, count: length))
      payload.store(UInt64(offset), at: 0)
      let tag = codec.seal(payload, length, at: UInt64(offset), into: frame)
      let segment = Buffer(count: Self.segmentBytes)
      segment.copy(from: frame, 0..<frame.count, to: offset)
      let found = try #require(codec.open(segment, at: offset))
      #expect(found.tag == tag && found.size == frame.count)
      #expect(found.payload.load(0..<length) == payload.load(0..<length))
      // Nowhere else.
      let others = stride(from: 0, to: Self.segmentBytes, by: 512).count {
        codec.open(segment, at: $0) != nil
      }
      #expect(others == 1)
    }
  }

  @Test func noOtherLengthIsSealed() async {
    await #expect(processExitsWith: .failure) { SegmentCodecTests.seal(31) }
    await #expect(processExitsWith: .failure) {
      SegmentCodecTests.seal(SegmentCodec.payloadSize(Journal.maximumPayload) + 1)
    }
  }

  private static func seal(_ length: Int) {
    let frame = Buffer(count: 4 << 20)
    _ = codec().seal(Buffer(count: length), length, at: 0, into: frame)
  }

  /// The length comes from outside: whatever it is, it leads to no trap and to no frame.
  @Test func anyLengthIsRefused() {
    let codec = Self.codec()
    let segment = Buffer(count: 64 << 10)
    let frame = Buffer(count: 1024)
    _ = codec.seal(Buffer(count: 600), 600, at: 512, into: frame)
    segment.copy(from: frame, 0..<1024, to: 512)
    let good = codec.open(segment, at: 512) != nil
    #expect(good)
    for length in [0, 1, 31, 32, 599, 601, 65536, 2 << 20, 2 << 20 + 1, .max] as [UInt32] {
      segment.store(length, at: 520)
      let isFrame = codec.open(segment, at: 512) != nil
      #expect(!isFrame, "\(length)")
    }
  }
}
