import Disk
import Format
import POSIX
import TestKit
import Testing

@testable import Engine

/// A disk that fails to read the journal (invariant I5): an error, which hides nothing before it.
@Suite struct JournalReadErrorTests {
  private static func failing(
    _ disk: SimulatedDisk, _ object: String, at bad: Range<Int>, _ errno: Errno = .ioError
  ) {
    disk.fault = { call in
      guard call.kind == .read, call.object == object, let range = call.range else { return nil }
      return range.overlaps(UInt64(bad.lowerBound)..<UInt64(bad.upperBound)) ? errno : nil
    }
  }

  private func scene() throws -> JournalScene {
    let scene = try JournalScene()
    for _ in 0..<3 { try scene.appendSynced() }
    try scene.switchSegment()
    for _ in 0..<3 { try scene.appendSynced() }
    return scene
  }

  @Test(arguments: [0, 1]) func aBadSectorHidesOnlyWhatIsBehindIt(which: Int) throws {
    let scene = try scene()
    let segment = Set(scene.frames.map { $0.segment }).sorted()[which]
    let frames = scene.frames.filter { $0.segment == segment }
    let end = try #require(frames.last).bytes.upperBound
    for start in stride(from: 0, to: JournalScene.size, by: 512) {
      let disk = scene.disk.snapshot()
      Self.failing(disk, segment, at: start..<(start + 512))
      guard which == 1 || start < end else {
        // Behind a switch frame nothing is of interest.
        #expect(try scene.gap(on: disk) == nil, "byte \(start)")
        continue
      }
      let gap = try scene.gap(on: disk)
      #expect(gap?.object == segment && gap?.cause == .unreadable(.ioError), "byte \(start)")
      let engine = try scene.vault.open(disk) { $0.readOnly = true }
      let before = scene.frames.prefix { $0.segment != segment || $0.bytes.upperBound <= start }
      let count = engine.count(of: scene.frames)
      #expect(count == before.count { $0.page != nil }, "byte \(start)")
      let later = scene.frames.count - before.count
      #expect(gap?.framesBehind == max(0, later - 1), "byte \(start)")
      try engine.close()
    }
  }

  @Test(arguments: [Errno.ioError, .stale]) func aSegmentThatCannotBeReadIsTold(errno: Errno) throws
  {
    let scene = try scene()
    let frame = scene.frames[0]
    for kind in [SimulatedCall.Kind.open, .size, .read] {
      let disk = scene.disk.snapshot()
      disk.fault = { $0.kind == kind && $0.object == frame.segment ? errno : nil }
      let gap = try scene.gap(on: disk)
      #expect(
        gap == JournalGap(object: frame.segment, cause: .unreadable(errno), framesBehind: 3))
    }
  }

  /// The next segment may hold what shows damage; while it can't be read, nobody knows.
  @Test func anUnreadableSuccessorIsAnErrorToo() throws {
    let scene = try JournalScene()
    try scene.appendSynced()
    let successor = SegmentCodec.fileName(try #require(scene.engine.journal).successor.number)
    let disk = scene.disk.snapshot()
    #expect(disk.journal.contains(successor))
    Self.failing(disk, successor, at: 5120..<5632)
    #expect(
      try scene.gap(on: disk)
        == JournalGap(object: successor, cause: .unreadable(.ioError), framesBehind: 0))
    let engine = try scene.vault.open(disk) { $0.acceptJournalLoss = true }
    #expect(engine.count(of: scene.frames) == 1)
    try engine.close()
  }

  /// A sector stays bad until it is overwritten, whatever the file is called: what was accepted
  /// once must not stop the next mount.
  @Test func anUnreadableSegmentIsNotUsedAgain() throws {
    let scene = try JournalScene()
    try scene.appendSynced()
    let successor = SegmentCodec.fileName(try #require(scene.engine.journal).successor.number)
    let mark = [UInt8](repeating: 0xab, count: 512)
    let disk = scene.disk.snapshot()
    disk.overwrite(successor, at: 40 << 10, with: mark)
    Self.failing(disk, successor, at: (40 << 10)..<(40 << 10 + 512))
    // A power loss before the new root is durable: it is still to be decided on.
    let cut = disk.snapshot()
    Self.failing(cut, successor, at: (40 << 10)..<(40 << 10 + 512))
    let bad = cut.fault
    cut.fault = { $0.object.hasPrefix("root.") && $0.kind == .write ? .ioError : bad?($0) }
    #expect(throws: EngineError.self) {
      _ = try scene.vault.open(cut) { $0.acceptJournalLoss = true }
    }
    let after = cut.crashed(seed: 3, mode: .keepAll)
    Self.failing(after, successor, at: (40 << 10)..<(40 << 10 + 512))
    #expect(try scene.gap(on: after)?.object == successor)

    let engine = try scene.vault.open(disk) { $0.acceptJournalLoss = true }
    #expect(engine.count(of: scene.frames) == 1)
    for _ in 0..<3 {
      try engine.makePages(2)
      try engine.checkpoint()
    }
    try engine.close()
    for name in disk.journal {
      let content = disk.content(of: name) ?? []
      let isMarked = content.count > 41 << 10 && content[40 << 10] == 0xab
      #expect(!isMarked, "\(name)")
    }
  }

  @Test func whatMayPassByItselfIsNotTakenForDamage() throws {
    let scene = try scene()
    for errno in [Errno.noMemory, .tooManyOpenFiles] {
      for kind in [SimulatedCall.Kind.open, .read] {
        let disk = scene.disk.snapshot()
        let segment = scene.frames[0].segment
        disk.fault = { $0.kind == kind && $0.object == segment ? errno : nil }
        #expect(
          throws: EngineError.disk(
            DiskError(errno: errno, operation: kind.rawValue, object: segment))
        ) {
          _ = try scene.vault.open(disk) { $0.acceptJournalLoss = true }
        }
      }
    }
  }

  /// A dying disk takes seconds for each attempt.
  @Test func aDyingDiskIsNotAskedForLong() throws {
    let scene = try scene()
    let disk = scene.disk.snapshot()
    Self.failing(disk, scene.frames[0].segment, at: 1024..<JournalScene.size)
    disk.resetCounts()
    _ = try scene.vault.open(disk) { $0.readOnly = true }
    let reads = disk.count(of: .read)
    #expect(reads < 100)
  }
}
