import Bytes
import TestKit
import Testing

@Suite struct BufferTests {
  @Test func aBufferStartsAsZeros() {
    let buffer = Buffer(count: 10000)
    #expect(buffer.count == 10000)
    #expect(buffer.isZero(0..<10000))
    #expect(Buffer(count: 0).load(0..<0) == [])
  }

  @Test func integersAreLittleEndianAtAnyAlignment() {
    let buffer = Buffer(count: 32)
    for offset in 0..<8 {
      buffer.store(0x0123_4567_89ab_cdef as UInt64, at: offset)
      #expect(hex(buffer.load(offset..<(offset + 8))) == "efcdab8967452301")
      #expect(buffer.load(UInt64.self, at: offset) == 0x0123_4567_89ab_cdef)
      #expect(buffer.load(UInt32.self, at: offset) == 0x89ab_cdef)
      #expect(buffer.load(UInt16.self, at: offset) == 0xcdef)
      #expect(buffer.load(UInt8.self, at: offset) == 0xef)
    }
    buffer.store(-2 as Int64, at: 24)
    #expect(buffer.load(Int64.self, at: 24) == -2)
  }

  @Test func bytesComeBack() {
    var random = SplitMix64(seed: 1)
    let bytes = random.bytes(5000)
    let buffer = Buffer(bytes)
    #expect(buffer.load(0..<5000) == bytes)
    #expect(buffer.load(17..<400) == Array(bytes[17..<400]))
    #expect(array(buffer.bytes) == bytes)
    #expect(array(buffer.bytes(in: 3..<9)) == Array(bytes[3..<9]))
    #expect(buffer.bytes(in: 5000..<5000).byteCount == 0)
    let copy = Buffer(copying: buffer)
    buffer.store(0 as UInt64, at: 0)
    #expect(copy.load(0..<5000) == bytes)
    let other = Buffer(count: 5003)
    other.store(copy.bytes, at: 3)
    #expect(other.load(3..<5003) == bytes)
  }

  @Test func copiesMayOverlap() {
    let buffer = Buffer(Array(0..<10))
    buffer.copy(from: buffer, 0..<6, to: 2)
    #expect(buffer.load(0..<10) == [0, 1, 0, 1, 2, 3, 4, 5, 8, 9])
    buffer.copy(from: buffer, 2..<8, to: 0)
    #expect(buffer.load(0..<10) == [0, 1, 2, 3, 4, 5, 4, 5, 8, 9])
    buffer.copy(from: buffer, 0..<0, to: 10)
  }

  @Test func zerosAreSetAndFound() {
    for count in [1, 7, 8, 9, 63, 64, 65] {
      let buffer = Buffer([UInt8](repeating: 0xff, count: count))
      for index in 0..<count {
        #expect(!buffer.isZero(0..<(index + 1)) || index == 0)
        buffer.zero(index..<(index + 1))
        #expect(buffer.isZero(0..<(index + 1)))
        #expect(buffer.isZero(0..<count) == (index == count - 1))
      }
    }
  }

  @Test func equalityIsThatOfARange() {
    let buffer = Buffer([1, 2, 3, 4])
    #expect(buffer.equals([2, 3], at: 1))
    #expect(!buffer.equals([2, 4], at: 1))
    #expect(buffer.equals([], at: 4))
    #expect(!buffer.equals([4, 5], at: 3), "past the end nothing is equal")
    #expect(!buffer.equals([1], at: -1))
    #expect(!buffer.equals([], at: 5))
  }

  @Test func spansAreWrittenAndCleared() {
    let buffer = Buffer([UInt8](repeating: 9, count: 8))
    let source = Buffer([1, 2, 3, 4])
    var span = buffer.mutableBytes(in: 2..<8)
    span.zero(0..<6)
    span.copy(from: source, 1..<4, to: 3)
    #expect(buffer.load(0..<8) == [9, 9, 0, 0, 0, 2, 3, 4])
  }
}
