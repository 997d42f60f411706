import Bytes
import Format
import TestKit
import Testing

@Suite struct JournalRecordTests {
  private let page = PageID(.pages, 0x0102_0304)

  private func decode(_ writer: ByteWriter) -> JournalRecord? {
    var reader = ByteReader(writer.buffer, in: 0..<writer.count)
    let record = JournalRecord.decode(&reader)
    #expect(record == nil || reader.remaining == 0, "a record ends where it was written to end")
    return record
  }

  @Test func aWriteComesBack() throws {
    var random = SplitMix64(seed: 1)
    let source = Buffer(random.bytes(4096))
    for (offset, length) in [(0, 0), (0, 1), (100, 200), (0, 4096), (4095, 1), (4096, 0)] {
      var writer = ByteWriter()
      JournalRecord.encodeWrite(
        page, offset: offset, of: source, length: length, to: &writer)
      guard case .write(page, offset, let range) = try #require(decode(writer)) else {
        Issue.record("not the write at \(offset)")
        continue
      }
      #expect(writer.buffer.load(range) == source.load(offset..<(offset + length)))
    }
  }

  @Test func pagesComeAndGo() throws {
    for file in MetadataFile.allCases {
      let page = PageID(file, 7)
      var writer = ByteWriter()
      JournalRecord.encodeFresh(page, to: &writer)
      if case .fresh(page) = try #require(decode(writer)) {} else { Issue.record("not fresh") }
      writer.clear()
      JournalRecord.encodeDrop(page, to: &writer)
      if case .drop(page) = try #require(decode(writer)) {} else { Issue.record("not drop") }
    }
  }

  @Test func anImageComesBack() throws {
    var random = SplitMix64(seed: 2)
    let source = Buffer(random.bytes(8192))
    var writer = ByteWriter()
    JournalRecord.encodeImage(slot: 99, of: source, at: 4096, to: &writer)
    guard case .image(99, let range) = try #require(decode(writer)) else {
      Issue.record("not the image")
      return
    }
    #expect(writer.buffer.load(range) == source.load(4096..<8192))
  }

  @Test func aSwitchComesBack() throws {
    var random = SplitMix64(seed: 3)
    let segment = SegmentName(number: 12, seed: random.bytes(32))
    var writer = ByteWriter()
    let successor = SegmentName(number: 13, seed: random.bytes(32))
    JournalRecord.encodeNext(segment, then: successor, to: &writer)
    let decoded = try #require(decode(writer))
    if case .next(segment, then: successor) = decoded {} else { Issue.record("not next") }
  }

  @Test func aWipeComesBack() throws {
    for ranges in [[], [5..<9], [1..<2, 65530..<65536, UInt32.max - 1..<UInt32.max]]
      as [[Range<UInt32>]]
    {
      var writer = ByteWriter()
      JournalRecord.encodeWipe(generation: 3, ranges, to: &writer)
      guard case .wipe(3, let found) = try #require(decode(writer)) else {
        Issue.record("not the wipe")
        continue
      }
      #expect(found == ranges)
    }
  }

  @Test func whatIsCutShortIsNoRecord() {
    let source = Buffer(count: 4096)
    var writers: [ByteWriter] = []
    func add(_ encode: (inout ByteWriter) -> Void) {
      var writer = ByteWriter()
      encode(&writer)
      writers.append(writer)
    }
    let page = page
    add { JournalRecord.encodeWrite(page, offset: 0, of: source, length: 20, to: &$0) }
    add { JournalRecord.encodeFresh(page, to: &$0) }
    add { JournalRecord.encodeDrop(page, to: &$0) }
    add { JournalRecord.encodeImage(slot: 1, of: source, at: 0, to: &$0) }
    let name = SegmentName(number: 1, seed: source.load(0..<32))
    add { JournalRecord.encodeNext(name, then: name, to: &$0) }
    add { JournalRecord.encodeWipe(generation: 1, [1..<2, 3..<4], to: &$0) }
    for writer in writers {
      for count in 0..<writer.count {
        var reader = ByteReader(writer.buffer, in: 0..<count)
        #expect(JournalRecord.decode(&reader) == nil)
      }
    }
  }

  @Test func zerosAreTheEnd() throws {
    var reader = ByteReader(Buffer(count: 100))
    if case .end = try #require(JournalRecord.decode(&reader)) {} else { Issue.record("no end") }
  }

  @Test func whatMakesNoSenseIsNoRecord() {
    func refuse(_ bytes: [UInt8]) {
      var reader = ByteReader(Buffer(bytes + [UInt8](repeating: 0, count: 5000)))
      #expect(JournalRecord.decode(&reader) == nil, "\(hex(bytes))")
    }
    refuse([7])
    refuse([255])
    refuse(unhex("02 08 00000000"))  // no such file
    refuse(unhex("01 00 00000000 0100 0010"))  // past the end of the page
    refuse(unhex("06 0000000000000000 ffffffff"))  // more ranges than bytes
    refuse(unhex("06 0000000000000000 01000000 02000000 01000000"))  // ends before it starts
  }

  /// Whatever the bytes are, decoding ends, and every record takes at least a byte.
  @Test(arguments: 0..<200 as Range<UInt64>)
  func randomBytesNeverTrap(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    var bytes = random.bytes(random.below(6000))
    // Most random bytes are no code at all: make the codes likely.
    for index in bytes.indices where random.chance(60) {
      bytes[index] = UInt8(random.below(7))
    }
    let buffer = Buffer(bytes)
    var reader = ByteReader(buffer)
    var before = -1
    while JournalRecord.decode(&reader) != nil {
      #expect(reader.offset > before)
      before = reader.offset
    }
    #expect(reader.offset <= buffer.count)
  }
}
