/// The bytes of a span, as an array.
package func array(_ span: RawSpan) -> [UInt8] {
  unsafe span.withUnsafeBytes { unsafe [UInt8]($0) }
}

/// Copies a range of an array over another array, without growing it.
func overwrite(_ target: inout [UInt8], at offset: Int, with source: [UInt8], _ range: Range<Int>) {
  precondition(offset >= 0 && offset + range.count <= target.count)
  precondition(range.lowerBound >= 0 && range.upperBound <= source.count)
  unsafe target.withUnsafeMutableBytes { to in
    unsafe source.withUnsafeBytes { from in
      unsafe to[offset..<(offset + range.count)].copyBytes(from: from[range])
    }
  }
}

extension MutableRawSpan {
  /// Copies a range of an array to an offset.
  package mutating func copy(from source: [UInt8], _ range: Range<Int>, to offset: Int) {
    precondition(offset >= 0 && offset + range.count <= byteCount)
    unsafe withUnsafeMutableBytes { to in
      unsafe source.withUnsafeBytes { from in
        unsafe to[offset..<(offset + range.count)].copyBytes(from: from[range])
      }
    }
  }
}
