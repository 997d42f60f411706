import Glibc

extension MutableRawSpan {
  /// Fills a range with zeros.
  package mutating func zero(_ range: Range<Int>) {
    precondition(range.lowerBound >= 0 && range.upperBound <= byteCount)
    unsafe withUnsafeMutableBytes { bytes in
      if let base = bytes.baseAddress { unsafe memset(base + range.lowerBound, 0, range.count) }
    }
  }

  /// Copies bytes of a buffer to an offset.
  package mutating func copy(from source: Buffer, _ range: Range<Int>, to offset: Int) {
    let bytes = source.bytes(in: range)
    precondition(offset >= 0 && offset + range.count <= byteCount)
    unsafe withUnsafeMutableBytes { target in
      unsafe bytes.withUnsafeBytes { origin in
        if let to = target.baseAddress, let from = origin.baseAddress {
          unsafe (to + offset).copyMemory(from: from, byteCount: origin.count)
        }
      }
    }
  }
}
