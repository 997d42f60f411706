import Disk
import Format
import POSIX
import TestKit
import Testing

@testable import Engine

/// Where the journal ends, and where it only seems to (invariant I5).
@Suite struct JournalEndTests {
  /// Four frames over two segments, each synced before the next.
  private func synced() throws -> JournalScene {
    let scene = try JournalScene()
    try scene.appendSynced()
    try scene.switchSegment()
    try scene.sync()
    try scene.appendSynced()
    try scene.appendSynced()
    return scene
  }

  @Test func damageOfAnySectorOfASyncedFrameIsTold() throws {
    let scene = try synced()
    for (index, frame) in scene.frames.dropLast().enumerated() {
      for sector in frame.sectors {
        let gap = try scene.gap(on: scene.disk(flipping: sector, of: frame.segment))
        let expected = JournalGap(
          object: frame.segment, cause: .damaged, framesBehind: scene.frames.count - 1 - index)
        #expect(gap == expected, "frame \(index), byte \(sector)")
      }
    }
    #expect(try scene.gap(on: scene.disk.snapshot()) == nil)
  }

  /// Nothing knows that the last frame was synced.
  @Test func damageOfTheLastFrameIsTheEnd() throws {
    let scene = try synced()
    let frame = scene.frames[4]
    #expect(frame.sectors.count > 2)
    for sector in frame.sectors {
      let engine = try scene.vault.open(scene.disk(flipping: sector, of: frame.segment))
      #expect(engine.count(of: scene.frames) == 2, "byte \(sector)")
      try engine.close()
    }
  }

  /// A power cut may lose the end of a segment and keep the next one, as long as nothing was
  /// synced.
  @Test func whatIsBehindAnUnsyncedTailIsNoDamage() throws {
    let scene = try JournalScene()
    try scene.appendSynced()
    let tail = [try scene.append(), try scene.append(), try scene.switchSegment()]
    let next = [try scene.append(), try scene.append()]
    for (index, frame) in tail.enumerated() {
      for lost in [Array(tail[index...]), [frame], [frame] + next.prefix(1)] {
        let engine = try scene.vault.open(scene.disk(losing: lost))
        #expect(engine.count(of: scene.frames) == 1 + index)
        try engine.close()
      }
      for sector in frame.sectors {
        let disk = scene.disk(flipping: sector, of: frame.segment)
        #expect(try scene.gap(on: disk) == nil, "frame \(index), byte \(sector)")
      }
    }
    let lost = try scene.vault.open(scene.disk(losing: [next[0]]))
    #expect(lost.count(of: scene.frames) == 3)
    // The same once it is synced, and a later frame knows of that.
    try scene.sync()
    try scene.append()
    for frame in tail {
      let gap = try scene.gap(on: scene.disk(losing: [frame]))
      #expect(gap?.cause == .damaged)
    }
  }

  /// Whatever a power cut keeps and loses of frames and switches, it is no damage, and what was
  /// synced is there.
  @Test(arguments: 0..<6 as Range<UInt64>) func aPowerCutIsNoDamage(seed: UInt64) throws {
    let scene = try JournalScene()
    var random = SplitMix64(seed: seed)
    var synced = 0
    var switches = 0
    for step in 0..<14 {
      switch random.below(5) {
      case 0:
        try scene.sync()
        synced = scene.frames.count { $0.page != nil }
      case 1:
        try scene.switchSegment()
        switches += 1
      default: try scene.append(pages: 1 + random.below(60))
      }
      for mode in [CrashMode.dropAll, .prefix, .subset] {
        let crashed = scene.disk.crashed(seed: random.next(), mode: mode)
        let engine = try scene.vault.open(crashed)
        let count = try #require(engine.count(of: scene.frames))
        #expect(count >= synced, "seed \(seed) step \(step) mode \(mode)")
      }
    }
    #expect(switches > 0)
  }

  /// The root names two segments, and so does every switch frame: one whole segment may rot.
  @Test(arguments: [false, true]) func aLostSegmentHidesNoneOfThoseAfterIt(isRemoved: Bool) throws {
    let scene = try synced()
    try scene.switchSegment()
    try scene.appendSynced()
    try scene.appendSynced()
    let segments = Set(scene.frames.map { $0.segment }).sorted()
    #expect(segments.count == 3)
    for (index, segment) in segments.dropLast().enumerated() {
      let disk = scene.disk.snapshot()
      if isRemoved {
        disk.removeObject(segment)
      } else {
        disk.overwrite(segment, at: 0, with: [UInt8](repeating: 0, count: JournalScene.size))
      }
      let later = scene.frames.count { segments[(index + 1)...].contains($0.segment) }
      let expected = JournalGap(
        object: segment, cause: isRemoved ? .missing : .damaged, framesBehind: later)
      #expect(try scene.gap(on: disk) == expected)
    }
  }

  @Test func aSegmentThatIsCutShortIsTold() throws {
    let scene = try synced()
    for frame in scene.frames {
      let disk = scene.disk.snapshot()
      disk.cut(frame.segment, to: frame.bytes.lowerBound)
      let gap = try scene.gap(on: disk)
      #expect(gap?.object == frame.segment && gap?.cause == .short)
    }
  }

  @Test func aSegmentNobodyNamesMayGo() throws {
    let scene = try synced()
    let named = Set(scene.frames.map { $0.segment })
    for name in scene.disk.journal where !named.contains(name) { scene.disk.removeObject(name) }
    #expect(try scene.gap(on: scene.disk.snapshot()) == nil)
  }

  /// A checkpoint that can't finish leaves the journal in another segment.
  @Test func abandonedCheckpointsAreFollowed() throws {
    let scene = try JournalScene()
    try scene.appendSynced()
    scene.disk.fault = { $0.kind == .write && $0.object.hasPrefix("meta-") ? .noSpace : nil }
    for _ in 0..<3 {
      #expect(throws: EngineError.self) { try scene.engine.checkpoint() }
      try scene.appendSynced()
    }
    scene.disk.fault = nil
    let engine = try scene.vault.open(scene.disk.snapshot())
    #expect(engine.count(of: scene.frames) == 4)
    let last = try #require(scene.frames.last)
    for segment in scene.disk.journal where segment < last.segment {
      let gap = try scene.gap(on: scene.disk(flipping: 600, of: segment))
      #expect(gap?.object == segment)
    }
  }
}
