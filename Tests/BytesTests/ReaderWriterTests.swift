import Bytes
import TestKit
import Testing

@Suite struct ReaderWriterTests {
  @Test func whatIsWrittenIsRead() {
    var writer = ByteWriter(capacity: 1)
    writer.integer(0x01 as UInt8)
    writer.integer(0x0203 as UInt16)
    writer.integer(0x0405_0607 as UInt32)
    writer.integer(0x0809_0a0b_0c0d_0e0f as UInt64)
    writer.bytes([1, 2, 3])
    writer.bytes(of: Buffer([7, 8, 9, 10]), in: 1..<3)
    writer.zeros(2)
    #expect(writer.count == 22)
    var reader = ByteReader(writer.buffer, in: 0..<writer.count)
    #expect(reader.uint8() == 0x01)
    #expect(reader.uint16() == 0x0203)
    #expect(reader.uint32() == 0x0405_0607)
    #expect(reader.uint64() == 0x0809_0a0b_0c0d_0e0f)
    #expect(reader.bytes(3) == [1, 2, 3])
    #expect(reader.range(2) == 18..<20)
    #expect(reader.remaining == 2)
    #expect(reader.bytes(2) == [0, 0])
    #expect(reader.remaining == 0)
  }

  @Test func nothingIsReadPastTheEnd() {
    var reader = ByteReader(Buffer([1, 2, 3]))
    #expect(reader.uint64() == nil)
    #expect(reader.uint32() == nil)
    #expect(reader.bytes(4) == nil)
    #expect(reader.bytes(-1) == nil)
    #expect(reader.range(4) == nil)
    #expect(reader.range(Int.max) == nil)
    #expect(reader.range(-1) == nil)
    #expect(reader.offset == 0, "a failed read moves nothing")
    #expect(reader.uint16() == 0x0201)
    #expect(reader.uint16() == nil)
    #expect(reader.uint8() == 3)
    #expect(reader.uint8() == nil)
    #expect(reader.bytes(0) == [])
  }

  @Test func aRangeIsAllThatIsRead() {
    var reader = ByteReader(Buffer(Array(0..<10)), in: 3..<5)
    #expect(reader.remaining == 2)
    #expect(reader.uint32() == nil)
    #expect(reader.bytes(2) == [3, 4])
    #expect(reader.uint8() == nil)
  }

  @Test func aValueIsPatched() {
    var writer = ByteWriter()
    writer.zeros(4)
    writer.integer(7 as UInt8)
    writer.patch(0x0102_0304 as UInt32, at: 0)
    #expect(writer.buffer.load(0..<writer.count) == [4, 3, 2, 1, 7])
  }

  @Test func aClearedWriterIsEmptyAndWiped() {
    var writer = ByteWriter(capacity: 16)
    writer.bytes([1, 2, 3])
    writer.clear()
    #expect(writer.count == 0)
    #expect(writer.buffer.isZero(0..<16))
    writer.bytes([4])
    #expect(writer.buffer.load(0..<writer.count) == [4])
  }

  @Test func aWriterGrows() {
    var random = SplitMix64(seed: 3)
    let bytes = random.bytes(20000)
    var writer = ByteWriter(capacity: 0)
    for byte in bytes { writer.integer(byte) }
    #expect(writer.buffer.load(0..<writer.count) == bytes)
  }

  /// Any sequence of reads ends without a trap.
  @Test(arguments: 0..<50 as Range<UInt64>)
  func randomReadsNeverTrap(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    let buffer = Buffer(random.bytes(random.below(64)))
    var reader = ByteReader(buffer)
    for _ in 0..<100 {
      let before = reader.offset
      let count = random.below(20) - 2
      switch random.below(6) {
      case 0: _ = reader.uint8()
      case 1: _ = reader.uint16()
      case 2: _ = reader.uint32()
      case 3: _ = reader.uint64()
      case 4: #expect(reader.bytes(count)?.count ?? count == count)
      default: #expect(reader.range(count)?.count ?? count == count)
      }
      #expect(reader.offset >= before && reader.offset <= buffer.count)
    }
  }
}
