package import Bytes

/// One page of one metadata file, or of the tables above its pages.
package struct PageID: Hashable, Sendable {
  package let rawValue: UInt64

  package init(_ file: MetadataFile, _ index: UInt32, level: UInt8 = 0) {
    rawValue = UInt64(file.rawValue) << 40 | UInt64(level) << 32 | UInt64(index)
  }

  package var file: MetadataFile {
    guard let file = MetadataFile(rawValue: UInt8(truncatingIfNeeded: rawValue >> 40)) else {
      preconditionFailure("a page id is made from a file")
    }
    return file
  }
  package var level: UInt8 { UInt8(truncatingIfNeeded: rawValue >> 32) }
  package var index: UInt32 { UInt32(truncatingIfNeeded: rawValue) }

  /// The table that holds this page's reference.
  package var table: PageID { PageID(file, index / 128, level: level + 1) }
  /// The position of this page's reference in its table.
  package var position: Int { Int(index % 128) }
}

/// What a frame says: absolute contents, so that replaying it twice is replaying it once.
package enum JournalRecord {
  /// Bytes of a page, at `range` of the frame's buffer.
  case write(PageID, offset: Int, Range<Int>)
  /// The page starts anew, all zero.
  case fresh(PageID)
  /// The page is given up.
  case drop(PageID)
  /// The ciphertext of a data slot, at `range` of the frame's buffer.
  case image(slot: UInt32, Range<Int>)
  /// The journal goes on in another segment, and then in the one after it.
  case next(SegmentName, then: SegmentName)
  /// Metadata slots that the root of this generation no longer names: to be overwritten with zeros.
  case wipe(generation: UInt64, [Range<UInt32>])
  /// No record follows.
  case end

  private enum Code {
    static let end: UInt8 = 0
    static let write: UInt8 = 1
    static let fresh: UInt8 = 2
    static let drop: UInt8 = 3
    static let image: UInt8 = 4
    static let next: UInt8 = 5
    static let wipe: UInt8 = 6
  }

  package static func encodeWrite(
    _ page: PageID, offset: Int, of source: Buffer, length: Int, to writer: inout ByteWriter
  ) {
    header(Code.write, page, to: &writer)
    writer.integer(UInt16(offset))
    writer.integer(UInt16(length))
    writer.bytes(of: source, in: offset..<(offset + length))
  }

  package static func encodeFresh(_ page: PageID, to writer: inout ByteWriter) {
    header(Code.fresh, page, to: &writer)
  }

  package static func encodeDrop(_ page: PageID, to writer: inout ByteWriter) {
    header(Code.drop, page, to: &writer)
  }

  package static func encodeImage(
    slot: UInt32, of source: Buffer, at offset: Int, to writer: inout ByteWriter
  ) {
    writer.integer(Code.image)
    writer.integer(slot)
    writer.bytes(of: source, in: offset..<(offset + Layout.chunkSize))
  }

  package static func encodeNext(
    _ segment: SegmentName, then successor: SegmentName, to writer: inout ByteWriter
  ) {
    writer.integer(Code.next)
    for name in [segment, successor] {
      writer.integer(name.number)
      writer.bytes(name.seed)
    }
  }

  package static func encodeWipe(
    generation: UInt64, _ ranges: [Range<UInt32>], to writer: inout ByteWriter
  ) {
    writer.integer(Code.wipe)
    writer.integer(generation)
    writer.integer(UInt32(ranges.count))
    for range in ranges {
      writer.integer(range.lowerBound)
      writer.integer(range.upperBound)
    }
  }

  private static func header(_ code: UInt8, _ page: PageID, to writer: inout ByteWriter) {
    writer.integer(code)
    writer.integer(page.file.rawValue)
    writer.integer(page.index)
  }

  /// Reads the next record; nil if the bytes are no record.
  package static func decode(_ reader: inout ByteReader) -> JournalRecord? {
    guard let code = reader.uint8() else { return nil }
    switch code {
    case Code.write:
      guard let page = page(&reader), let offset = reader.uint16(), let length = reader.uint16(),
        Int(offset) + Int(length) <= Layout.chunkSize, let range = reader.range(Int(length))
      else { return nil }
      return .write(page, offset: Int(offset), range)
    case Code.fresh: return page(&reader).map { .fresh($0) }
    case Code.drop: return page(&reader).map { .drop($0) }
    case Code.image:
      guard let slot = reader.uint32(), slot > 0, slot < .max,
        let range = reader.range(Layout.chunkSize)
      else { return nil }
      return .image(slot: slot, range)
    case Code.next:
      guard let next = segment(&reader), let successor = segment(&reader) else { return nil }
      return .next(next, then: successor)
    case Code.wipe:
      guard let generation = reader.uint64(), let count = reader.uint32(),
        reader.remaining >= Int(count) * 8
      else { return nil }
      var ranges: [Range<UInt32>] = []
      for _ in 0..<count {
        // Not empty, and within one container.
        guard let start = reader.uint32(), let end = reader.uint32(), start > 0, start < end,
          start / Layout.slotsPerContainer == (end - 1) / Layout.slotsPerContainer
        else { return nil }
        ranges.append(start..<end)
      }
      return .wipe(generation: generation, ranges)
    case Code.end: return .end
    default: return nil
    }
  }

  private static func segment(_ reader: inout ByteReader) -> SegmentName? {
    guard let number = reader.uint64(), let seed = reader.bytes(32) else { return nil }
    return SegmentName(number: number, seed: seed)
  }

  private static func page(_ reader: inout ByteReader) -> PageID? {
    guard let raw = reader.uint8(), let file = MetadataFile(rawValue: raw),
      let index = reader.uint32()
    else { return nil }
    return PageID(file, index)
  }
}
