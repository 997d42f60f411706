import Bytes
import Format
import TestKit
import Testing

@Suite struct RootRecordTests {
  private static func record(seed: UInt64) -> RootRecord {
    var random = SplitMix64(seed: seed)
    var record = RootRecord()
    record.generation = random.next() >> 2
    record.session = random.bytes(16)
    record.configurationGeneration = random.next() >> 2
    record.metadataSeed = random.bytes(32)
    record.metadataSeals = random.next() >> 2
    record.uncleanStops = UInt32(random.next() >> 33)
    record.segment = SegmentName(number: random.next() >> 2, seed: random.bytes(32))
    record.successor = SegmentName(number: random.next() >> 2, seed: random.bytes(32))
    record.firstSequence = random.next() >> 2 | 1
    record.previousTagLow = random.next()
    record.previousTagHigh = random.next()
    record.usedMetaSlots = random.next() >> 32
    record.lineageCount = random.next() >> 32
    for index in record.tops.indices {
      record.tops[index].height = UInt8(random.below(5))
      for entry in record.tops[index].references.indices {
        record.tops[index].references[entry] = random.reference()
      }
    }
    return record
  }

  @Test(arguments: 0..<10 as Range<UInt64>)
  func everyFieldComesBack(seed: UInt64) throws {
    let record = Self.record(seed: seed)
    let buffer = record.encoded()
    #expect(buffer.count == Layout.rootSize - 28)
    let back = try RootRecord(decoding: buffer)
    #expect(back.generation == record.generation && back.session == record.session)
    #expect(back.configurationGeneration == record.configurationGeneration)
    #expect(back.metadataSeed == record.metadataSeed)
    #expect(back.metadataSeals == record.metadataSeals)
    #expect(back.uncleanStops == record.uncleanStops && back.segment == record.segment)
    #expect(back.successor == record.successor)
    #expect(back.firstSequence == record.firstSequence)
    #expect(back.previousTagLow == record.previousTagLow)
    #expect(back.previousTagHigh == record.previousTagHigh)
    #expect(back.usedMetaSlots == record.usedMetaSlots)
    #expect(back.lineageCount == record.lineageCount && back.tops == record.tops)
  }

  @Test func theUnusedRestIsZero() {
    let buffer = RootRecord().encoded()
    let used = 8 + 8 + 8 + 16 + 8 + 32 + 8 + 8 + 8 + 32 + 8 * 5 + 8 * (8 + 16 * 32)
    #expect(buffer.isZero(used..<buffer.count))
  }

  @Test func anotherMagicIsMalformed() {
    let buffer = Self.record(seed: 1).encoded()
    buffer.store(buffer.load(UInt8.self, at: 0) ^ 1, at: 0)
    #expect(throws: RootRecord.Problem.malformed) { _ = try RootRecord(decoding: buffer) }
  }

  @Test(arguments: [8, 12])
  func anotherVersionOrUnknownFeatureIsUnsupported(offset: Int) {
    let buffer = Self.record(seed: 1).encoded()
    buffer.store(2 as UInt32, at: offset)
    #expect(throws: RootRecord.Problem.unsupported) { _ = try RootRecord(decoding: buffer) }
  }

  @Test func aTreeHigherThanAnyIsMalformed() {
    var record = RootRecord()
    record.tops[7].height = 6
    let buffer = record.encoded()
    #expect(throws: RootRecord.Problem.malformed) { _ = try RootRecord(decoding: buffer) }
  }

  @Test func aShortRecordIsMalformed() {
    let whole = Self.record(seed: 1).encoded()
    for count in stride(from: 0, to: 4300, by: 13) {
      let part = Buffer(whole.load(0..<count))
      #expect(throws: RootRecord.Problem.malformed) { _ = try RootRecord(decoding: part) }
    }
  }

  /// Whatever the bytes are, decoding ends with a record or a problem.
  @Test(arguments: 0..<100 as Range<UInt64>)
  func randomBytesNeverTrap(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    let buffer = Self.record(seed: seed).encoded()
    for _ in 0..<(1 + random.below(50)) {
      buffer.store(UInt8(truncatingIfNeeded: random.next()), at: 8 + random.below(4300))
    }
    _ = try? RootRecord(decoding: buffer)
    _ = try? RootRecord(decoding: Buffer(random.bytes(random.below(9000))))
  }

  @Test func aTreeNamesMorePagesWithEachLevel() {
    var top = TreeTop()
    #expect(top.capacity == 16)
    top.height = 2
    #expect(top.capacity == 16 * 128 * 128)
  }
}
