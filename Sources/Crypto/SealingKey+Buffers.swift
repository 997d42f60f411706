package import Bytes

/// Sealing between buffers, with IV, tag and additional data as values: nothing is allocated.
extension SealingKey {
  package func seal(
    _ plain: RawSpan, into target: Buffer, at offset: Int, iv: IV, additional: AdditionalData
  ) -> Tag {
    var sealed = target.mutableBytes(in: offset..<(offset + plain.byteCount))
    let iv = iv.inline
    let words = additional.words
    var tag: InlineArray<2, UInt64> = [0, 0]
    do {
      var mutable = tag.mutableSpan
      var bytes = unsafe mutable.mutableBytes
      unsafe seal(
        plain, into: &sealed, iv: iv.span.bytes, tag: &bytes, additional: words.span.bytes)
    }
    return Tag(low: UInt64(littleEndian: tag[0]), high: UInt64(littleEndian: tag[1]))
  }

  package func seal(
    _ source: Buffer, _ range: Range<Int>, into target: Buffer, at offset: Int, iv: IV,
    additional: AdditionalData
  ) -> Tag {
    seal(source.bytes(in: range), into: target, at: offset, iv: iv, additional: additional)
  }

  package func open(
    _ source: Buffer, _ range: Range<Int>, into plain: inout MutableRawSpan, iv: IV, tag: Tag,
    additional: AdditionalData
  ) -> Bool {
    let iv = iv.inline
    let words = additional.words
    let tag: InlineArray<2, UInt64> = [tag.low.littleEndian, tag.high.littleEndian]
    return unsafe open(
      source.bytes(in: range), into: &plain, iv: iv.span.bytes, tag: tag.span.bytes,
      additional: words.span.bytes)
  }

  package func open(
    _ source: Buffer, _ range: Range<Int>, into target: Buffer, at offset: Int, iv: IV, tag: Tag,
    additional: AdditionalData
  ) -> Bool {
    var plain = target.mutableBytes(in: offset..<(offset + range.count))
    return open(source, range, into: &plain, iv: iv, tag: tag, additional: additional)
  }
}
