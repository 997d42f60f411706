/// Reads fixed-width little-endian values from a buffer that came from outside.
///
/// Every read is bounds-checked and returns nil past the end, so that a decoder built from it is
/// total.
package struct ByteReader {
  private let buffer: Buffer
  private let end: Int
  package private(set) var offset: Int

  /// Reads `range` of a buffer, or all of it.
  package init(_ buffer: Buffer, in range: Range<Int>? = nil) {
    let range = range ?? 0..<buffer.count
    precondition(range.lowerBound >= 0 && range.upperBound <= buffer.count)
    self.buffer = buffer
    offset = range.lowerBound
    end = range.upperBound
  }

  package var remaining: Int { end - offset }

  package mutating func integer<T: FixedWidthInteger & BitwiseCopyable>(_ type: T.Type) -> T? {
    guard remaining >= MemoryLayout<T>.size else { return nil }
    defer { offset += MemoryLayout<T>.size }
    return buffer.load(type, at: offset)
  }

  package mutating func uint8() -> UInt8? { integer(UInt8.self) }
  package mutating func uint16() -> UInt16? { integer(UInt16.self) }
  package mutating func uint32() -> UInt32? { integer(UInt32.self) }
  package mutating func uint64() -> UInt64? { integer(UInt64.self) }

  package mutating func bytes(_ count: Int) -> [UInt8]? {
    guard count >= 0, remaining >= count else { return nil }
    defer { offset += count }
    return buffer.load(offset..<(offset + count))
  }

  /// Skips bytes and returns where they were.
  package mutating func range(_ count: Int) -> Range<Int>? {
    guard count >= 0, remaining >= count else { return nil }
    defer { offset += count }
    return offset..<(offset + count)
  }
}
