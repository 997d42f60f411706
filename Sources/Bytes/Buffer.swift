import Glibc

/// Memory of a fixed size that is wiped when it is released, page-aligned if it is a page or more.
///
/// Every plaintext and ciphertext buffer of Coffre is one of these. Access is bounds-checked;
/// integers are little-endian at any alignment. A buffer is not synchronised: whoever shares one
/// between threads must have stopped writing to it first.
///
/// Public, like its integers, because the compiler inlines across modules only what is.
@safe
public final class Buffer: @unchecked Sendable {
  @usableFromInline let base: UnsafeMutableRawPointer
  /// In bytes.
  public let count: Int
  /// Whether whoever changed it last vouches for its structure, so that it need not be gone through
  /// again. A copy has it, too. Not to be set once it is shared.
  package var isSound = false

  /// `count` zero bytes.
  package init(count: Int) {
    precondition(count >= 0)
    self.count = count
    unsafe base = BufferMemory.allocate(count)
  }

  /// A copy of another buffer.
  package init(copying other: Buffer) {
    count = other.count
    unsafe base = BufferMemory.allocate(count)
    unsafe base.copyMemory(from: other.base, byteCount: count)
    isSound = other.isSound
  }

  package convenience init(_ bytes: [UInt8]) {
    self.init(count: bytes.count)
    store(bytes, at: 0)
  }

  deinit { unsafe BufferMemory.release(base, count) }

  /// All the bytes, to read.
  package var bytes: RawSpan {
    @_lifetime(borrow self)
    get { bytes(in: 0..<count) }
  }

  /// The bytes of a range, to read.
  @_lifetime(borrow self)
  package func bytes(in range: Range<Int>) -> RawSpan {
    check(range.lowerBound, range.count)
    let span = unsafe RawSpan(_unsafeStart: base + range.lowerBound, byteCount: range.count)
    return unsafe _overrideLifetime(span, borrowing: self)
  }

  /// The bytes of a range, to write.
  @_lifetime(borrow self)
  package func mutableBytes(in range: Range<Int>) -> MutableRawSpan {
    check(range.lowerBound, range.count)
    let span = unsafe MutableRawSpan(_unsafeStart: base + range.lowerBound, byteCount: range.count)
    return unsafe _overrideLifetime(span, borrowing: self)
  }

  /// The integer at an offset in bytes.
  @inlinable @inline(__always)
  public func load<T: FixedWidthInteger & BitwiseCopyable>(_ type: T.Type, at offset: Int) -> T {
    check(offset, MemoryLayout<T>.size)
    return unsafe T(littleEndian: base.loadUnaligned(fromByteOffset: offset, as: T.self))
  }

  /// Writes an integer at an offset in bytes.
  @inlinable @inline(__always)
  public func store<T: FixedWidthInteger & BitwiseCopyable>(_ value: T, at offset: Int) {
    check(offset, MemoryLayout<T>.size)
    unsafe base.storeBytes(of: value.littleEndian, toByteOffset: offset, as: T.self)
  }

  package func load(_ range: Range<Int>) -> [UInt8] {
    check(range.lowerBound, range.count)
    return unsafe [UInt8](
      UnsafeRawBufferPointer(start: base + range.lowerBound, count: range.count))
  }

  package func store(_ bytes: [UInt8], at offset: Int) {
    check(offset, bytes.count)
    unsafe bytes.withUnsafeBytes { source in
      if let start = source.baseAddress {
        unsafe (base + offset).copyMemory(from: start, byteCount: source.count)
      }
    }
  }

  package func store(_ bytes: RawSpan, at offset: Int) {
    check(offset, bytes.byteCount)
    unsafe bytes.withUnsafeBytes { source in
      if let start = source.baseAddress {
        unsafe (base + offset).copyMemory(from: start, byteCount: source.count)
      }
    }
  }

  /// Copies within this buffer or from another; overlapping ranges are allowed.
  package func copy(from source: Buffer, _ range: Range<Int>, to offset: Int) {
    source.check(range.lowerBound, range.count)
    check(offset, range.count)
    unsafe memmove(base + offset, source.base + range.lowerBound, range.count)
  }

  /// Fills a range with zeros.
  package func zero(_ range: Range<Int>) {
    check(range.lowerBound, range.count)
    unsafe memset(base + range.lowerBound, 0, range.count)
  }

  /// Whether a range holds only zeros.
  package func isZero(_ range: Range<Int>) -> Bool {
    check(range.lowerBound, range.count)
    var offset = range.lowerBound
    while offset + 8 <= range.upperBound {
      if load(UInt64.self, at: offset) != 0 { return false }
      offset += 8
    }
    while offset < range.upperBound {
      if load(UInt8.self, at: offset) != 0 { return false }
      offset += 1
    }
    return true
  }

  /// Whether a range equals some bytes. Not constant-time: for names, never for secrets.
  package func equals(_ bytes: [UInt8], at offset: Int) -> Bool {
    guard offset >= 0, bytes.count <= count - offset else { return false }
    return unsafe bytes.withUnsafeBytes { other in
      guard let start = other.baseAddress else { return true }
      return unsafe memcmp(base + offset, start, other.count) == 0
    }
  }

  @inlinable @inline(__always)
  func check(_ offset: Int, _ length: Int) {
    precondition(offset >= 0 && length >= 0 && length <= count - offset, "outside of the buffer")
  }
}
