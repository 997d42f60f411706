import Bytes
import Format
import TestKit
import Testing

/// Entries of the audit log and where the log is.
@Suite struct AuditEntryTests {
  static let events: [AuditEvent] = [
    .unlocked(slot: 3, isReadOnly: true, failed: 4, firstFailed: 1_700_000_000),
    .locked(.atMost, isLost: true), .locked(.killed, isLost: false),
    .exported(.get, files: 1, bytes: 2), .exported(.document, files: 0, bytes: 9),
    .exported(.exec, files: 0, bytes: 0), .erased(files: 5, bytes: 6), .expired(files: 7),
    .passwordChanged(slot: 0, generation: 2), .slotAdded(slot: 1, generation: 3),
    .slotRemoved(slot: 1, generation: 4),
    .verified(.damaged, [.quick, .repair], damages: 3, left: 1),
    .olderAccepted(generation: 5), .journalLossAccepted(generation: 6),
    .policyChanged(.backup, from: 1, to: 2), .policyChanged(.hold, from: 0, to: 3600),
    .consentGiven(version: 1), .consentWithdrawn(version: 1),
    .trimmed(entries: 32, until: 1 << 60), .lost(from: 1, to: 33), .missed(entries: 2),
    .unknown(kind: 99, numbers: [1, 2, 3, 4, 5]),
  ]

  @Test(arguments: events) func whatIsWrittenIsRead(event: AuditEvent) throws {
    var entry = AuditEntry(event, time: 77, user: 1000, program: Array("coffre".utf8))
    entry.number = 12
    entry.isNoted = true
    let buffer = Buffer([UInt8](repeating: 0xff, count: 200))
    entry.store(to: buffer, at: 50)
    #expect(AuditEntry(from: buffer, at: 50) == entry)
    #expect(buffer.load(46..<50) == [0xff, 0xff, 0xff, 0xff])
    #expect(buffer.load(146..<150) == [0xff, 0xff, 0xff, 0xff])
  }

  /// Each number of a kind stands for one kind, for ever.
  @Test func kindsAreNumbered() {
    let kinds = Self.events.map(\.kind)
    #expect(kinds == [1, 2, 2, 3, 3, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 12, 13, 14, 15, 16, 17, 99])
    #expect(AuditCause.allCases.map(\.rawValue) == Array(1...11))
    #expect(AuditExport.allCases.map(\.rawValue) == [1, 2, 3])
    #expect(AuditOutcome.allCases.map(\.rawValue) == [1, 2, 3])
    #expect(AuditPolicy.allCases.map(\.rawValue) == [1, 2, 3])
  }

  @Test func aLongNameIsCut() {
    let name = [UInt8](repeating: 0x61, count: 40)
    #expect(AuditEntry(.expired(files: 1), time: 0, user: 0, program: name).program.count == 15)
    let odd = AuditEntry(.expired(files: 1), time: 0, user: 0, program: [0x61, 0, 0x62])
    #expect(odd.program == [0x61])
  }

  /// What no program writes is no entry, or one of an unknown kind; never another one.
  @Test func onlyWhatIsWrittenIsRead() {
    var random = SplitMix64(seed: 5)
    let buffer = Buffer(count: AuditEntry.size)
    let again = Buffer(count: AuditEntry.size)
    var read = 0
    for event in Self.events {
      for _ in 0..<300 {
        AuditEntry(event, time: 1 << 50, user: 7, program: Array("tool".utf8))
          .store(to: buffer, at: 0)
        for _ in 0..<(1 + random.below(3)) {
          buffer.store(UInt8(random.below(256)), at: random.below(AuditEntry.size))
        }
        guard let found = AuditEntry(from: buffer, at: 0) else { continue }
        read += 1
        found.store(to: again, at: 0)
        #expect(again.load(0..<again.count) == buffer.load(0..<buffer.count))
      }
    }
    #expect(read > 1000)
  }

  @Test func theHeadIsChecked() throws {
    var head = AuditHead()
    head.count = 40_000
    head.dropped = 32 * 800
    head.openUnlock = 39_999
    head.chain = [UInt8](1...32)
    head.chainBefore = [UInt8](2...33)
    let buffer = Buffer(count: 100)
    head.store(to: buffer, at: 4)
    #expect(AuditHead(from: buffer, at: 4) == head)
    for (offset, value) in [
      (0, 1 << 62), (0, 25_000), (0, 50_000), (8, 25_601), (8, 1 << 63), (16, 40_001),
    ] as [(Int, UInt64)] {
      head.store(to: buffer, at: 4)
      buffer.store(value, at: 4 + offset)
      #expect(AuditHead(from: buffer, at: 4) == nil, "\(offset): \(value)")
    }
    // A vault from before there was a log.
    #expect(AuditHead(from: Buffer(count: AuditHead.size), at: 0) == AuditHead())
  }

  @Test func placesGoRound() {
    #expect(AuditHead.place(of: 1) == (1, 0))
    #expect(AuditHead.place(of: 32) == (1, 31 * 128))
    #expect(AuditHead.place(of: 33) == (2, 0))
    #expect(AuditHead.place(of: AuditHead.capacity) == (512, 31 * 128))
    #expect(AuditHead.place(of: AuditHead.capacity + 1) == (1, 0))
  }
}
