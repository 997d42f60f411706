import Bytes
import Crypto
import Disk
import Format
import POSIX
import TestKit
import Testing

@testable import Engine

/// What a sync of the journal promises (invariants I5, I6 and I9).
@Suite struct JournalTests {
  private let disk = SimulatedDisk()
  private let held: HeldDisk
  private let codecs: [SegmentCodec]
  private let files: [any DiskFile]
  private let journal: Journal
  private static let segmentBytes = 64 << 10

  init() throws {
    let held = HeldDisk(disk)
    self.held = held
    let master = SecretBytes(random: 32)
    var codecs: [SegmentCodec] = []
    var files: [any DiskFile] = []
    try held.createFolder("journal")
    for number in 1...2 as ClosedRange<UInt64> {
      let name = SegmentName(number: number, seed: [UInt8](repeating: 3, count: 32))
      codecs.append(
        SegmentCodec(name, master: master, vault: [UInt8](repeating: 1, count: 16)))
      let file = try held.create(SegmentCodec.fileName(number))
      try file.allocate(0..<UInt64(Self.segmentBytes))
      try file.sync()
      files.append(file)
    }
    try held.syncFolder("journal")
    try held.syncFolder("")
    self.codecs = codecs
    self.files = files
    journal = Journal(
      segment: (codecs[0], files[0]), successor: codecs[1].name, segmentBytes: Self.segmentBytes,
      nextSequence: 1, previous: Tag(low: 0, high: 0))
  }

  private func append() throws -> UInt64 { try journal.append(Buffer(count: 100), 100) }

  private func switchOver() throws {
    let then = SegmentName(number: 3, seed: [UInt8](repeating: 5, count: 32))
    try journal.switchTo(codecs[1], files[1], then: then)
  }

  /// The sequences of the frames of a segment that a power loss leaves for certain.
  private func durableFrames(_ segment: Int) throws -> [UInt64] {
    let crashed = disk.crashed(seed: 1, mode: .dropAll)
    let name = SegmentCodec.fileName(codecs[segment].name.number)
    let bytes = Buffer(try #require(crashed.content(of: name)))
    var found: [UInt64] = []
    var offset = 0
    while let frame = codecs[segment].open(bytes, at: offset) {
      found.append(frame.payload.load(UInt64.self, at: 0))
      offset += frame.size
    }
    return found
  }

  @Test func aSyncCoversWhatASwitchAppendedDuringAnother() throws {
    let first = try append()
    let gate = held.hold(.sync, of: SegmentCodec.fileName(1), .after)
    let sync = try Aside { [journal] in try journal.sync(through: first) }
    #expect(gate.waitUntilReached())
    _ = try append()
    try switchOver()
    let last = try append()
    gate.open()
    try sync.finish()
    #expect(try durableFrames(0) == [1])
    try journal.sync(through: last)
    #expect(try durableFrames(0) == [1, 2, 3])
    #expect(try durableFrames(1) == [4])
  }

  @Test func whoComesDuringASyncWaitsForTheNext() throws {
    let first = try append()
    let gate = held.hold(.sync, of: SegmentCodec.fileName(1), .after)
    let early = try Aside { [journal] in try journal.sync(through: first) }
    #expect(gate.waitUntilReached())
    let second = try append()
    let late = try Aside { [journal] in try journal.sync(through: second) }
    #expect(!late.ends(within: 100_000_000))
    gate.open()
    try early.finish()
    try late.finish()
    #expect(try durableFrames(0) == [1, 2])
  }

  @Test func anOlderSegmentIsSyncedBeforeANewer() throws {
    _ = try append()
    try switchOver()
    let last = try append()
    disk.keepsCalls = true
    try journal.sync(through: last)
    let synced = disk.calls.filter { $0.kind == .sync }.map { $0.object }
    #expect(synced == [SegmentCodec.fileName(1), SegmentCodec.fileName(2)])
  }

  @Test func aSyncedSegmentIsNotSyncedAgain() throws {
    _ = try append()
    try switchOver()
    try journal.sync(through: try append())
    disk.keepsCalls = true
    try journal.sync(through: try append())
    let synced = disk.calls.filter { $0.kind == .sync }.map { $0.object }
    #expect(synced == [SegmentCodec.fileName(2)])
  }

  @Test func aFailedSyncIsNotRepeatedAndCalledGood() throws {
    let sequence = try append()
    disk.fault = { $0.kind == .sync ? .ioError : nil }
    #expect(throws: DiskError.self) { try journal.sync(through: sequence) }
    disk.fault = nil
    #expect(throws: DiskError.self) { try journal.sync(through: sequence) }
    #expect(try durableFrames(0) == [])
  }

  /// The length of a frame, which is in clear, does not tell that of a name in it (G1).
  @Test func lengthsTellMultiplesOnly() throws {
    var lengths: Set<UInt32> = []
    for length in 1...255 {
      let before = journal.filled
      _ = try journal.append(Buffer(count: 160 + length), 160 + length)
      let bytes = Buffer(try #require(disk.content(of: SegmentCodec.fileName(1))))
      let total = UInt32(journal.filled - before)
      let told = bytes.load(UInt32.self, at: Int(before) + 8)
      #expect(told + UInt32(SegmentCodec.headerSize) == total)
      lengths.insert(told)
      if journal.filled > UInt64(Self.segmentBytes / 2) { break }
    }
    #expect(lengths.count <= 2)
  }
}
