import Bytes
import Crypto
import Disk
import Format
import POSIX
import TestKit
import Testing

@testable import Engine
@testable import Volume

/// The audit log: what is appended is there, in order, and what is missing or changed is noticed.
@Suite struct AuditLogTests {
  private let vault: AuditVault
  init() throws { vault = try AuditVault() }

  @Test func whatIsAppendedIsThere() throws {
    var volume = try vault.open()
    #expect(try volume.auditRecord() == AuditRecord())
    let entries = (0..<100).map { AuditVault.entry(UInt64($0)) }
    try volume.append(Array(entries[..<40]), isClosing: false)
    try volume.append(Array(entries[40...]), isClosing: true)
    let here = try volume.auditRecord()
    try volume.close()
    #expect(here.entries.map(\.event) == entries.map(\.event))
    #expect(here.entries.map(\.number) == Array(1...100))
    #expect(here.entries.map(\.time) == entries.map(\.time))
    #expect(here.problems == [] && here.count == 100 && here.dropped == 0)
    for readOnly in [true, false] {
      volume = try vault.open(readOnly: readOnly)
      let there = try volume.auditRecord()
      #expect(there == here, "read-only: \(readOnly)")
      try volume.close()
    }
    #expect(try vault.check().damages == [])
  }

  /// What was noted elsewhere leaves the sessions as they are.
  @Test func aSessionWithoutAnEndIsTold() throws {
    let volume = try vault.open()
    let unlock = AuditEvent.unlocked(slot: 0, isReadOnly: false, failed: 0, firstFailed: 0)
    let lock = AuditEvent.locked(.requested, isLost: false)
    var note = AuditVault.entry(unlock)
    note.isNoted = true
    for event in [unlock, lock, unlock, .expired(files: 1)] {
      try volume.append([AuditVault.entry(event)], isClosing: false)
    }
    try volume.append([note, AuditVault.entry(unlock)], isClosing: false)
    try volume.append([AuditVault.entry(lock)], isClosing: false)
    try volume.append([AuditVault.entry(unlock)], isClosing: false)
    let found = try volume.auditRecord()
    #expect(
      found.entries.map(\.event) == [
        unlock, lock, unlock, .expired(files: 1), unlock, .locked(.killed, isLost: false), unlock,
        lock, unlock,
      ])
    let noted = found.entries.indices.filter { found.entries[$0].isNoted }
    #expect(noted == [4])
    try volume.close()
  }

  /// The end of a session that could not be written any more when it came.
  @Test func aNotedEndIsAnEnd() throws {
    let volume = try vault.open()
    let unlock = AuditEvent.unlocked(slot: 0, isReadOnly: false, failed: 0, firstFailed: 0)
    let lock = AuditEvent.locked(.idle, isLost: true)
    try volume.append([AuditVault.entry(unlock)], isClosing: false)
    let notes = [lock, unlock, lock].map { event in
      var note = AuditVault.entry(event)
      note.isNoted = true
      return note
    }
    try volume.append(notes + [AuditVault.entry(unlock)], isClosing: false)
    // Of another mount alone: this one goes on.
    try volume.append(Array(notes[1...]) + [AuditVault.entry(unlock)], isClosing: false)
    let found = try volume.auditRecord()
    #expect(
      found.entries.map(\.event) == [
        unlock, lock, unlock, lock, unlock, unlock, lock, .locked(.killed, isLost: false), unlock,
      ])
    try volume.close()
  }

  /// The oldest go, a page at a time, and that is told; the log takes no more space.
  @Test func theOldestAreDropped() throws {
    var volume = try vault.open()
    let capacity = Int(AuditHead.capacity)
    try volume.append((0..<capacity).map { AuditVault.entry(UInt64($0)) }, isClosing: true)
    let full = try volume.auditRecord()
    #expect(full.entries.count == capacity && full.dropped == 0 && full.problems == [])
    try volume.engine.checkpoint()
    let used = volume.engine.usedMetaSlots
    for round in 1...3 as ClosedRange<UInt64> {
      try volume.append((0..<31).map { AuditVault.entry(1_000_000 + $0) }, isClosing: false)
      let found = try volume.auditRecord()
      #expect(found.entries.count == capacity && found.dropped == 32 * round)
      #expect(found.problems == [])
      #expect(found.entries.first?.number == 32 * round + 1)
      let told = found.entries.first { $0.number == UInt64(capacity) + 32 * (round - 1) + 1 }
      let last = full.entries[Int(32 * round) - 1]
      #expect(
        told?.event == .trimmed(entries: 32 * round, until: last.time))
    }
    try volume.engine.checkpoint()
    let after = volume.engine.usedMetaSlots
    #expect(after == used)
    let before = try volume.auditRecord()
    try volume.close()
    volume = try vault.open(readOnly: true)
    #expect(try volume.auditRecord() == before)
    try volume.close()
    #expect(try vault.check().damages == [])
  }

  /// A full log, appended to in the midst of reading: what is there is whole.
  @Test func readingWhileItGrows() throws {
    let volume = try vault.open()
    try volume.append(
      (0..<Int(AuditHead.capacity)).map { AuditVault.entry(UInt64($0)) }, isClosing: true)
    let head = try volume.engine.read { (pages) throws(EngineError) in
      try AuditLog.head(in: pages)
    }
    var pages: [PageID: Buffer] = [:]
    for (index, start) in head.starts.enumerated() {
      let id = AuditLog.page(of: start)
      pages[id] = try volume.engine.read { (pages) throws(EngineError) in try pages.read(id) }
      if index == 3 {
        try volume.append((0..<300).map { AuditVault.entry(UInt64($0)) }, isClosing: true)
      }
    }
    let later = try volume.engine.read { (pages) throws(EngineError) in
      try AuditLog.head(in: pages)
    }
    let found = AuditReader.record(head, later: later, pages)
    #expect(found.problems == [])
    #expect(found.entries.first?.number == later.dropped + 1 && later.dropped > 0)
    #expect(found.entries.last?.number == head.count)
    try volume.close()
  }

  /// An entry that can't be written changes nothing.
  @Test func aReadOnlyVolumeRefuses() throws {
    let volume = try vault.open(readOnly: true)
    #expect(throws: VolumeError.self) {
      try volume.append([AuditVault.entry(1)], isClosing: false)
    }
    #expect(try volume.auditRecord() == AuditRecord())
    try volume.close()
  }

  /// No room for metadata: what was taken is there, what was refused left nothing behind.
  @Test func onAFullDiskTheVolumeGoesOn() throws {
    let volume = try vault.open()
    vault.disk.capacity = vault.disk.used
    let caller = Caller(user: 0, group: 0, mask: 0)
    var made = 0
    while made < 20_000,
      (try? volume.makeDirectory(FileName("folder \(made)"), in: .root, mode: 0o755, by: caller))
        != nil
    { made += 1 }
    var written: UInt64 = 0
    var refused = 0
    while written < 8192 && refused < 3 {
      do throws(VolumeError) {
        try volume.append((0..<64).map { AuditVault.entry(written + $0) }, isClosing: false)
        written += 64
      } catch {
        refused += 1
        #expect(error.errno == .noSpace)
      }
    }
    let found = try volume.auditRecord()
    #expect(refused == 3 && made > 100, "\(made) folders, \(written) entries")
    #expect(found.count == written && found.problems == [])
    try volume.close()
    let again = try vault.open()
    let after = try again.auditRecord()
    #expect(after == found)
    try again.close()
  }
}

/// A vault on a simulated disk whose audit log is looked at.
final class AuditVault {
  private static let vault = [UInt8](repeating: 4, count: 16)
  let disk = SimulatedDisk()
  private let master = SecretBytes(random: 32)

  static var options: EngineOptions {
    var options = EngineOptions()
    options.worksInBackground = false
    options.journalSegmentBytes = 256 << 10
    return options
  }

  init() throws {
    try Volume.create(
      on: disk, master: master, vault: Self.vault, options: Self.options, anchor: nil,
      owner: Caller(user: 1000, group: 1000, mask: 0o022))
  }

  func open(
    _ other: SimulatedDisk? = nil, readOnly: Bool = false
  ) throws(EngineError) -> Volume {
    var options = Self.options
    options.readOnly = readOnly
    return try Volume.open(
      on: other ?? disk, master: master, vault: Self.vault, options: options, anchor: nil)
  }

  func check(_ other: SimulatedDisk? = nil, repairs: Bool = false) throws -> ScrubReport {
    let volume = try open(other, readOnly: !repairs)
    var options = ScrubOptions()
    options.repairs = repairs
    let report = try volume.scrub(options)
    try volume.close()
    return report
  }

  static func entry(_ event: AuditEvent, time: UInt64 = 1) -> AuditEntry {
    AuditEntry(event, time: time, user: 1000, program: Array("test".utf8))
  }

  /// One that can be told from all others.
  static func entry(_ number: UInt64) -> AuditEntry {
    entry(.exported(.get, files: number, bytes: 3 * number), time: 1_000_000 + number)
  }
}
