import Bytes
import Format
import TestKit
import Testing

extension SplitMix64 {
  mutating func reference() -> Reference {
    Reference(
      slot: UInt32(truncatingIfNeeded: next()), ivHigh: next(),
      ivLow: UInt32(truncatingIfNeeded: next()), tagLow: next(), tagHigh: next())
  }
}

@Suite struct ReferenceTests {
  @Test func aReferenceIs32BytesInOrder() {
    let buffer = Buffer(count: 40)
    let reference = Reference(
      slot: 0x0403_0201, ivHigh: 0x0c0b_0a09_0807_0605, ivLow: 0x100f_0e0d,
      tagLow: 0x1817_1615_1413_1211, tagHigh: 0x201f_1e1d_1c1b_1a19)
    reference.store(to: buffer, at: 4)
    #expect(buffer.load(4..<36) == Array(1...32))
    #expect(buffer.isZero(0..<4) && buffer.isZero(36..<40))
    #expect(Reference(from: buffer, at: 4) == reference)
  }

  @Test func onlySlotZeroIsAHole() {
    #expect(Reference.hole.isHole)
    #expect(Reference(from: Buffer(count: 32), at: 0) == .hole)
    #expect(!Reference(slot: 1, ivHigh: 0, ivLow: 0, tagLow: 0, tagHigh: 0).isHole)
  }

  @Test func theSizesAgree() {
    #expect(Layout.referencesPerTable * Layout.referenceSize == Layout.chunkSize)
    #expect(Int(Layout.inodesPerPage) * Layout.inodeSize == Layout.chunkSize)
    #expect(Int(Layout.pointersPerPage) * 4 == Layout.chunkSize)
    #expect(Int(Layout.bitsPerPage) == Layout.chunkSize * 8)
    #expect(Int(Layout.directReferences) * Layout.referenceSize == InodeRecord().tail.count)
    #expect(Layout.chunkSize % Layout.frameAlignment == 0)
  }

  @Test func aPageIDTellsFileLevelAndIndex() {
    for file in MetadataFile.allCases {
      for level in [0, 1, 5] as [UInt8] {
        for index in [0, 1, 127, 128, UInt32.max] as [UInt32] {
          let page = PageID(file, index, level: level)
          #expect(page.file == file)
          #expect(page.level == level)
          #expect(page.index == index)
          #expect(page.table == PageID(file, index / 128, level: level + 1))
          #expect(page.position == Int(index % 128))
        }
      }
    }
  }
}

@Suite struct InodeRecordTests {
  /// Every field, each with a value of its own.
  private func record(_ random: inout SplitMix64) -> InodeRecord {
    func u32() -> UInt32 { UInt32(truncatingIfNeeded: random.next()) }
    func time() -> (seconds: Int64, nanoseconds: UInt32) {
      (Int64(truncatingIfNeeded: random.next()), u32())
    }
    var record = InodeRecord()
    record.mode = u32()
    record.links = u32()
    record.user = u32()
    record.group = u32()
    record.size = random.next()
    record.accessed = time()
    record.modified = time()
    record.changed = time()
    record.born = time()
    record.generation = u32()
    record.flags = InodeFlags(rawValue: u32())
    record.device = random.next()
    record.chunks = random.next()
    record.seed = random.bytes(32)
    record.seals = random.next() & InodeRecord.mostSeals
    record.stops = UInt32(random.below(1 << 24))
    record.attributePage = u32()
    record.height = UInt8(truncatingIfNeeded: random.next())
    record.top = u32()
    record.parent = random.next()
    record.tail = random.bytes(96)
    return record
  }

  @Test(arguments: 0..<20 as Range<UInt64>)
  func everyFieldComesBack(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    let record = record(&random)
    let buffer = Buffer([UInt8](repeating: 0xff, count: 512))
    record.store(to: buffer, at: 128)
    let back = InodeRecord(from: buffer, at: 128)
    #expect(back.mode == record.mode && back.links == record.links)
    #expect(back.user == record.user && back.group == record.group)
    #expect(back.size == record.size && back.chunks == record.chunks)
    #expect(back.accessed == record.accessed && back.modified == record.modified)
    #expect(back.changed == record.changed && back.born == record.born)
    #expect(back.generation == record.generation && back.flags == record.flags)
    #expect(back.device == record.device && back.seed == record.seed)
    #expect(back.seals == record.seals && back.stops == record.stops)
    #expect(back.attributePage == record.attributePage)
    #expect(back.height == record.height && back.top == record.top)
    #expect(back.parent == record.parent && back.tail == record.tail)
    #expect(buffer.load(0..<128).allSatisfy { $0 == 0xff })
    #expect(buffer.load(384..<512).allSatisfy { $0 == 0xff })
  }

  /// The unused bytes aside, a stored record is what was read.
  @Test(arguments: 0..<20 as Range<UInt64>)
  func everyBitPatternIsARecord(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    let buffer = Buffer(random.bytes(256))
    let once = Buffer(count: 256)
    InodeRecord(from: buffer, at: 0).store(to: once, at: 0)
    let twice = Buffer(count: 256)
    InodeRecord(from: once, at: 0).store(to: twice, at: 0)
    #expect(once.load(0..<256) == twice.load(0..<256))
    let unused: Set<Int> = Set(128..<132).union(137..<140)
    for index in 0..<256 where !unused.contains(index) {
      #expect(once.load(UInt8.self, at: index) == buffer.load(UInt8.self, at: index))
    }
  }
}
