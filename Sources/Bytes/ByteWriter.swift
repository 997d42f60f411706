/// Appends little-endian values to a buffer that grows; what it outgrows is wiped.
package struct ByteWriter {
  package private(set) var buffer: Buffer
  package private(set) var count = 0

  package init(capacity: Int = 4096) {
    buffer = Buffer(count: capacity)
  }

  package mutating func integer<T: FixedWidthInteger & BitwiseCopyable>(_ value: T) {
    reserve(MemoryLayout<T>.size)
    buffer.store(value, at: count)
    count += MemoryLayout<T>.size
  }

  package mutating func bytes(_ bytes: [UInt8]) {
    reserve(bytes.count)
    buffer.store(bytes, at: count)
    count += bytes.count
  }

  package mutating func bytes(of source: Buffer, in range: Range<Int>) {
    reserve(range.count)
    buffer.copy(from: source, range, to: count)
    count += range.count
  }

  package mutating func zeros(_ length: Int) {
    reserve(length)
    buffer.zero(count..<(count + length))
    count += length
  }

  /// Overwrites a value written before.
  package mutating func patch<T: FixedWidthInteger & BitwiseCopyable>(_ value: T, at offset: Int) {
    precondition(offset >= 0 && offset + MemoryLayout<T>.size <= count)
    buffer.store(value, at: offset)
  }

  package mutating func clear() {
    buffer.zero(0..<count)
    count = 0
  }

  private mutating func reserve(_ length: Int) {
    guard count + length > buffer.count else { return }
    let larger = Buffer(count: max(buffer.count * 2, count + length))
    larger.copy(from: buffer, 0..<count, to: 0)
    buffer = larger
  }
}
