import Bytes
import Crypto
import Disk
import Engine
import Format
import POSIX
import TestKit
import Testing

@testable import CommandLineTool
@testable import Session
@testable import Vault
@testable import Volume

/// The audit log on its way to a person.
@Suite struct JournalTests {
  private static var entries: [AuditEntry] {
    let events: [AuditEvent] = [
      .unlocked(slot: 0, isReadOnly: false, failed: 2, firstFailed: 1_700_000_000),
      .locked(.suspend, isLost: true), .exported(.get, files: 3, bytes: 0),
      .verified(.repaired, [.repair], damages: 2, left: 0),
      .unknown(kind: 99, numbers: [1, .max, 3, 4, 5]),
    ]
    return events.enumerated().map { index, event in
      var entry = AuditEntry(
        event, time: 1_700_000_000_123_456_789 + UInt64(index), user: 1000,
        program: Array("a \"b\u{1b}\\".utf8))
      entry.number = UInt64(index) + 7
      return entry
    }
  }

  @Test func itCrossesTheSocket() throws {
    var report = AuditReport()
    report.entries = Self.entries
    report.notes = [AuditEntry(.expired(files: 1), time: 5, user: 0, program: [])]
    report.count = 11
    report.dropped = 6
    report.chain = "00ff"
    report.problems = ["entry 8 is missing", "=%\n"]
    report.isOlder = true
    var found = AuditReport()
    var isOver = false
    for message in report.messages {
      #expect(!isOver)
      let line = try #require(Message(line: message.line.dropLast()))
      isOver = found.take(line)
    }
    #expect(isOver && found == report)
  }

  @Test(arguments: [
    "entry", "entry number=1 time=1 kind=0 numbers=1,2,3,4,5 user=1 program=",
    "entry number=1 time=1 kind=1 numbers=1,2,3,4 user=1 program=",
    "entry number=1 time=1 kind=1 numbers=1,2,3,4,x,5 user=1 program=",
    "entry number=1 time=1 kind=1 numbers=1,2,3,4,5 user=-1 program=",
    "entry number=1 time=1 kind=1 numbers=1,2,3,4,5 user=1 program=6",
    "entry number=1 time=1 kind=1 numbers=1,2,3,4,5 user=1 program=-6",
  ])
  func whatIsNoEntryIsLeftOut(line: String) throws {
    let message = try #require(Message(line: Array(line.utf8)))
    #expect(message.auditEntry == nil)
    var report = AuditReport()
    let isOver = report.take(message)
    #expect(!isOver && report == AuditReport())
  }

  @Test func aLineIsSafeOnATerminal() {
    for entry in Self.entries {
      let line = JournalCommand.line(entry)
      #expect(line.unicodeScalars.allSatisfy { $0.value >= 0x20 })
      #expect(line.contains("  2023-11-14 22:13:20  uid 1000  a \"b\\x1b\\x5c  "), "\(line)")
    }
    let first = JournalCommand.line(Self.entries[0])
    #expect(first.hasPrefix("     7  "))
    #expect(
      first.hasSuffix(
        "unlocked, key slot 0; 2 failed attempts before it, the first 2023-11-14 22:13:20"))
  }

  @Test(arguments: entries) func everyEventHasWords(entry: AuditEntry) {
    let json = JournalCommand.json(entry).text
    #expect(json.contains("\"event\": \"\(entry.event.word)\""))
    #expect(json.contains("\"time\": \"2023-11-14T22:13:20.1234567"), "\(json)")
    #expect(!entry.event.sentence.isEmpty)
  }

  /// The words of causes are those of `status`.
  @Test func causesAreTheSameEverywhere() {
    #expect(Set(LockCause.allCases.map(\.audit)) == Set(AuditCause.allCases))
    for cause in LockCause.allCases { #expect(LockCause(cause.audit) == cause) }
  }
}

@Suite struct CalendarTimeTests {
  @Test(
    arguments: [
      (0, "1970-01-01T00:00:00.000000000Z"), (951_782_400, "2000-02-29T00:00:00.000000000Z"),
      (1_709_251_199, "2024-02-29T23:59:59.000000000Z"),
      (1_709_251_200, "2024-03-01T00:00:00.000000000Z"),
      (4_102_444_799, "2099-12-31T23:59:59.000000000Z"),
    ] as [(UInt64, String)])
  func timesAreWritten(seconds: UInt64, text: String) {
    #expect(CalendarTime.text(seconds * 1_000_000_000) == text)
    #expect(CalendarTime.parse(String(text.prefix(19)) + "Z") == seconds * 1_000_000_000)
  }

  /// Each day there is, and none more.
  @Test func everyDayIsRead() {
    for day in stride(from: UInt64(0), to: 47_482, by: 1) {
      let time = day * 86400 * 1_000_000_000
      let text = String(CalendarTime.text(time).prefix(10))
      if CalendarTime.parse(text) != time {
        Issue.record("\(text) is not day \(day)")
        return
      }
    }
    #expect(CalendarTime.text(47_481 * 86400 * 1_000_000_000).hasPrefix("2099-12-31"))
  }

  @Test func sinceIsADurationOrADate() throws {
    let now: UInt64 = 1_700_000_000_000_000_000
    #expect(try CalendarTime.since("2h", now: now) == now - 7_200_000_000_000)
    #expect(try CalendarTime.since("366d", now: 5) == 0)
    #expect(try CalendarTime.since("2023-11-14", now: now) == 1_699_920_000_000_000_000)
    #expect(try CalendarTime.since("2023-11-14T22:13", now: now) == 1_699_999_980_000_000_000)
    #expect(try CalendarTime.since("2023-11-14T22:13:20Z", now: now) == now)
  }

  @Test(arguments: [
    "", "never", "0s", "2023-13-01", "2023-02-29", "2023-11-31", "1969-12-31", "2100-01-01",
    "2023-11-14T", "2023-11-14T24:00", "2023-11-14T22", "2023-11-14T22:60", "2023-11-14Z",
    "2023-11-14T22:13:20+01", "2023-1-14", "+023-11-14", "2023-11-14T22:13T", "é023-11-14",
  ])
  func whatIsNoTimeIsRefused(text: String) {
    let failure = #expect(throws: Failure.self) { try CalendarTime.since(text, now: 0) }
    #expect(failure?.code == .usage)
  }
}

/// What could not be written into the vault waits in a file.
@Suite final class AuditNotesTests {
  private let folder = ScratchDirectory()
  private let disk = SimulatedDisk()
  private let master = SecretBytes(random: 32)
  private let vault = [UInt8](repeating: 5, count: 16)

  private func open() throws -> Volume {
    var options = EngineOptions()
    options.worksInBackground = false
    if disk.names.isEmpty {
      try Volume.create(
        on: disk, master: master, vault: vault, options: options, anchor: nil,
        owner: Caller(user: 0, group: 0, mask: 0))
    }
    return try Volume.open(
      on: disk, master: master, vault: vault, options: options, anchor: nil)
  }

  private static func entry(_ number: UInt64) -> AuditEntry {
    AuditEntry(.expired(files: number), time: number, user: 1, program: [])
  }

  @Test func whatIsNotedIsReadAndForgotten() throws {
    let notes = AuditNotes(path: folder.path("aa.notes"))
    let volume = try open()
    #expect(notes.read() == nil)
    let added = (1...2).map { notes.add(Self.entry($0), of: volume) }
    #expect(added == [true, true])
    let first = try #require(notes.read())
    let found = volume.entries(ofNotes: first).map(\.event)
    #expect(found == [.expired(files: 1), .expired(files: 2)])
    // Nothing in it can be read without the key.
    #expect(try System.linkStatus(at: notes.path).mode & 0o777 == 0o600)
    let isAdded = notes.add(Self.entry(3), of: volume)
    #expect(isAdded)
    notes.forget(first)
    let second = try #require(notes.read())
    let count = volume.entries(ofNotes: second).count
    #expect(count == 3)
    notes.forget(second)
    #expect(notes.read() == nil)
    try volume.close()
  }

  @Test func theFileHasALimit() throws {
    let notes = AuditNotes(path: folder.path("aa.notes"))
    let volume = try open()
    try writeFile(notes.path, [UInt8](repeating: 1, count: AuditNotes.most * AuditNote.size))
    let isAdded = notes.add(Self.entry(1), of: volume)
    #expect(!isAdded)
    let found = volume.entries(ofNotes: try #require(notes.read()))
    #expect(found == [])
    try volume.close()
  }

  @Test func whatIsNoFileIsLeftAlone() throws {
    let notes = AuditNotes(path: folder.path("aa.notes"))
    try System.makeDirectory(notes.path, mode: 0o700)
    let volume = try open()
    let isAdded = notes.add(Self.entry(1), of: volume)
    #expect(!isAdded && notes.read() == nil)
    try volume.close()
  }

  /// Written nowhere: counted, told, and made up for by the next entry that is written.
  @Test func whatIsWrittenNowhereIsTold() throws {
    let notes = AuditNotes(path: folder.path("aa.notes"))
    try System.makeDirectory(notes.path, mode: 0o700)
    let volume = try open()
    let writer = AuditWriter(volume, notes: notes)
    var isWritten = writer.record(.expired(files: 1))
    #expect(isWritten)
    let head = try volume.engine.page(PageID(.system, 0)).load(UInt64.self, at: SystemPage.audit)
    func setHead(_ count: UInt64) throws {
      try volume.engine.transact { (transaction) throws(EngineError) in
        try transaction.edit(PageID(.system, 0)).store(count, at: SystemPage.audit)
      }
    }
    try setHead(.max)
    isWritten = writer.record(.expired(files: 2))
    var problems = writer.problems
    #expect(!isWritten && problems.count == 2)
    #expect(problems.last == "1 entry of the audit log could be written nowhere")
    try setHead(head)
    isWritten = writer.record(.expired(files: 3))
    problems = writer.problems
    #expect(isWritten && problems == [])
    let events = try volume.auditRecord().entries.map(\.event)
    #expect(events == [.expired(files: 1), .missed(entries: 1), .expired(files: 3)])
    try volume.close()
  }

  /// A volume that takes no change: what is done with it is noted, and taken over later.
  @Test func whatIsNotedIsTakenOver() throws {
    let notes = AuditNotes(path: folder.path("aa.notes"))
    var volume = try open()
    var writer = AuditWriter(volume, notes: notes)
    volume.engine.turnReadOnly("for a test")
    var isWritten = writer.record(.expired(files: 1), user: 12)
    let problems = writer.problems
    #expect(!isWritten && problems == [])
    try? volume.close()
    volume = try open()
    writer = AuditWriter(volume, notes: notes)
    isWritten = writer.record(.expired(files: 2))
    #expect(isWritten && notes.read() == nil)
    let found = try volume.auditRecord().entries
    #expect(found.map(\.event) == [.expired(files: 1), .expired(files: 2)])
    #expect(found.map(\.isNoted) == [true, false] && found.map(\.number) == [1, 2])
    #expect(found.first?.user == 12)
    try volume.close()
  }
}
