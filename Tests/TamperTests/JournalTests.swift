import Bytes
import Disk
import Format
import POSIX
import TestKit
import Testing

@testable import Engine
@testable import Volume

/// The journal of a vault that was killed: it is replayed up to a frame, and no further than its
/// frames prove each other; a frame that a later one knows to have been durable is missed.
@Suite(.timeLimit(.minutes(15))) struct JournalTests {
  struct Frame {
    let offset: Int
    let length: Int
    let size: Int
    let sequence: UInt64
    /// The last one known to be durable when it was written.
    let durable: UInt64
  }

  private let stand: Bench
  private let object: String
  private let frames: [Frame]

  init() throws {
    stand = try Bench(.killed)
    let specimen = stand.specimen
    let vault = specimen.configuration.vault
    let disk = try PosixDisk(path: stand.store)
    let roots = RootFiles(disk: disk, master: specimen.master, vault: vault)
    let root = try #require(try roots.read(0)).record
    object = SegmentCodec.fileName(root.segment.number)
    let codec = SegmentCodec(root.segment, master: specimen.master, vault: vault)
    let bytes = Buffer(try #require(readFile(stand.store + "/" + object)))
    var found: [Frame] = []
    var offset = 0
    while let frame = codec.open(bytes, at: offset) {
      found.append(
        Frame(
          offset: offset, length: frame.payload.count, size: frame.size,
          sequence: frame.payload.load(UInt64.self, at: 0),
          durable: frame.payload.load(UInt64.self, at: 24)))
      offset += frame.size
    }
    frames = found
  }

  /// The moment after the frames before one; nil if it is before the session's first.
  private func moment(before frame: Int) -> Int? {
    stand.specimen.moments.lastIndex { $0.sequence < frames[frame].sequence }
  }

  @Test func everyMomentIsOneFrame() throws {
    let moments = stand.specimen.moments
    #expect(moments.count > 10)
    #expect(moments.map(\.sequence) == frames.suffix(moments.count).map(\.sequence))
    let verdict = try stand.look()
    #expect(verdict.isRight, "\(verdict.summary)")
    #expect(frames.contains { $0.durable == $0.sequence - 1 })
    #expect(frames.contains { $0.durable < $0.sequence - 1 })
  }

  /// Whether a frame behind this one knows it, or one after it, to have been durable.
  private func isKnown(_ index: Int) -> Bool {
    frames[(index + 1)...].contains { $0.durable >= frames[index].sequence }
  }

  private func places(_ frame: Frame) -> [Int] {
    let header = [0, 8, 11, 16, 27, 32, 47].map { frame.offset + $0 }
    let start = frame.offset + SegmentCodec.headerSize
    return header + [start, start + frame.length / 2, start + frame.length - 1]
  }

  /// One frame is not what it was: noticed where a later one knows better; else the journal ends
  /// before it.
  @Test func aFrameIsDamaged() throws {
    var cases = 0
    for index in frames.indices {
      for (step, offset) in places(frames[index]).enumerated() {
        guard Limits.takes(step + index, of: 12) else { continue }
        let old = try readBytes(stand.store + "/" + object, offset..<(offset + 1))
        try Alteration.patch(stand.store, [(object, offset, old.map { $0 ^ 0x40 })]) {
          let verdict = try stand.look()
          cases += 1
          if isKnown(index) {
            #expect(isReported(verdict), "frame \(index) at \(offset): \(verdict.summary)")
          } else if !isReported(verdict) {
            let earlier = try stand.earlierMoment()
            #expect(earlier?.moment == moment(before: index), "frame \(index) at \(offset)")
          }
        }
      }
    }
    try stand.expectUntouched()
    Tally.add(cases, "damage in journal frames")
  }

  /// Bytes that mean nothing: between the end of a frame and the next.
  @Test func paddingDoesNotMatter() throws {
    for frame in frames where frame.size > SegmentCodec.headerSize + frame.length {
      let offset = frame.offset + frame.size - 1
      let verdict = try Alteration.patch(stand.store, [(object, offset, [0xff])]) {
        try stand.look()
      }
      #expect(verdict.isRight, "\(verdict.summary)")
    }
  }

  /// The end is cut off, by zeros or by a hole: what is left is a moment of the past, or it is said
  /// that the journal is damaged. Nothing else, wherever it is cut.
  @Test func theEndIsGone() throws {
    var cases = 0
    for index in frames.indices {
      for inside in [0, 48, frames[index].size / 2 / 512 * 512] {
        let start = frames[index].offset + inside
        let zeros = [UInt8](repeating: 0, count: try sizeOf(stand.store + "/" + object) - start)
        try Alteration.patch(stand.store, [(object, start, zeros)]) {
          let verdict = try stand.earlierMoment()
          cases += 1
          let found = try #require(verdict, "cut at \(start)")
          let expected = moment(before: index)
          #expect(
            isReported(found) || found.moment == expected || expected == nil,
            "cut at \(start): \(found.moment ?? -1)")
        }
      }
    }
    try stand.expectUntouched()
    Tally.add(cases, "journals without their end")
  }

  /// Frames change places, or one is put in the place of another: no frame is good in two places.
  @Test func framesAreMoved() throws {
    var cases = 0
    for index in frames.indices.dropLast() {
      let (one, other) = (frames[index], frames[index + 1])
      let mine = try readBytes(stand.store + "/" + object, one.offset..<(one.offset + one.size))
      let next = try readBytes(
        stand.store + "/" + object, other.offset..<(other.offset + other.size))
      for bytes in [next + mine, mine + mine, next + next] {
        let room = one.size + other.size
        let patch = Array((bytes + [UInt8](repeating: 0, count: room)).prefix(room))
        try Alteration.patch(stand.store, [(object, one.offset, patch)]) {
          let verdict = try stand.look()
          cases += 1
          let found = verdict.isHonest ? verdict : try stand.earlierMoment()
          #expect(found?.isHonest == true, "frames \(index): \(verdict.summary)")
        }
      }
    }
    try stand.expectUntouched()
    Tally.add(cases, "journal frames moved")
  }

  /// The segment as it was some frames ago is the end cut off; that of another session is nothing.
  @Test func anOlderSegmentIsPutBack() throws {
    let before = try Specimen.shared.get()
    var cases = 0
    for state in [Specimen.State.older, .clean] {
      for name in namesInFolder(before.path(state) + "/journal") {
        let alteration = Alteration("\(name) of \(state)", [object]) { [object] store in
          try copyFile(before.path(state) + "/journal/" + name, to: store + "/" + object)
        }
        let verdict = try alteration.with(stand.store) { try stand.look(after: alteration) }
        cases += 1
        #expect(verdict.isHonest, "\(alteration.name): \(verdict.summary)")
      }
    }
    Tally.add(cases, "older journal segments put back")
  }

  /// Refused, or shown without what came later and said so.
  private func isReported(_ verdict: Verdict) -> Bool {
    verdict.refusal.map { "\($0)".contains("journal") } ?? "\(verdict.warnings)".contains("journal")
  }
}
