import Disk
import Engine
import Format
import POSIX
import TestKit
import Testing

@testable import Volume

/// Power is cut at every step of the disk while the audit log is written: what was acknowledged is
/// there, whole and in order, and so it stays.
@Suite struct AuditCrashTests {
  private static let isSoak = System.environment("COFFRE_SOAK") == "1"
  private let vault: AuditVault
  /// Where the log starts: empty, in the midst of a page, or full, so that the oldest go.
  private static let starts = [0, 20, Int(AuditHead.capacity) - 5]

  init() throws { vault = try AuditVault() }

  @Test(arguments: starts) func whatWasAcknowledgedIsThere(start: Int) throws {
    let volume = try vault.open()
    if start > 0 {
      try volume.append((0..<start).map { AuditVault.entry(UInt64($0)) }, isClosing: true)
    }
    try volume.close()
    let total = try play(start, stopAfter: nil).disk.steps
    #expect(total > 40)
    var random = SplitMix64(seed: UInt64(start))
    var step = 1
    var points = 0
    while step < total {
      let (disk, acknowledged) = try play(start, stopAfter: step)
      for mode in [CrashMode.keepAll, .dropAll, .random] {
        let left = disk.crashed(seed: random.next(), mode: mode)
        let complaint = complaint(about: left, start, acknowledged)
        #expect(complaint == nil, "start \(start), step \(step), \(mode)")
        points += 1
      }
      step += start > 1000 && !Self.isSoak ? 1 + random.below(60) : 1
    }
    #expect(points >= 12)
  }

  /// Appends, with checkpoints and other changes between; until the disk stops. How many entries a
  /// call has returned for.
  private func play(
    _ start: Int, stopAfter: Int?
  ) throws -> (disk: SimulatedDisk, acknowledged: Int) {
    let disk = vault.disk.snapshot()
    disk.stopAfter = stopAfter
    var acknowledged = 0
    do {
      let volume = try vault.open(disk)
      for round in 0..<8 {
        let count = 1 + round % 3
        let first = start + acknowledged
        let entries = (first..<(first + count)).map { AuditVault.entry(UInt64($0)) }
        try volume.append(entries, isClosing: false)
        acknowledged += count
        if round == 2 || round == 5 { try volume.engine.checkpoint() }
        _ = try volume.makeDirectory(
          FileName("folder \(round)"), in: .root, mode: 0o755,
          by: Caller(user: 0, group: 0, mask: 0))
      }
      try volume.close()
    } catch {
      try #require(stopAfter != nil, "\(error)")
    }
    return (disk, acknowledged)
  }

  private func complaint(about disk: SimulatedDisk, _ start: Int, _ acknowledged: Int) -> String? {
    do {
      var before: AuditRecord?
      for _ in 0..<2 {
        let volume = try vault.open(disk)
        let found = try volume.auditRecord()
        guard found.problems.isEmpty else { return "\(found.problems)" }
        let own = found.entries.filter { if case .trimmed = $0.event { false } else { true } }
        let first = start + acknowledged
        // The entries' own numbers: all up to one that was acknowledged, or the one after.
        let numbers = own.compactMap { entry -> Int? in
          if case .exported(_, let files, _) = entry.event { Int(files) } else { nil }
        }
        guard numbers.count == own.count, numbers.last ?? -1 >= first - 1,
          numbers == Array((numbers.first ?? 0)..<((numbers.last ?? -1) + 1))
        else { return "\(numbers.suffix(12)) after \(first)" }
        guard found.entries.map(\.number) == Array((found.dropped + 1)..<(found.count + 1)) else {
          return "numbers from \(found.dropped + 1) to \(found.count)"
        }
        if let before, before != found { return "another log at the second mount" }
        before = found
        try volume.close()
      }
      return nil
    } catch { return "\(error)" }
  }
}
