import Disk
import Format
import POSIX
import TestKit

@testable import Engine

/// A vault with a journal of which every frame is known.
final class JournalScene {
  struct Frame {
    /// The segment's file, and the bytes in it.
    let segment: String
    let bytes: Range<Int>
    /// A page that the frame made; nil for a switch frame.
    let page: UInt32?

    /// The first byte of each sector; none of them is padding.
    var sectors: [Int] { Array(stride(from: bytes.lowerBound, to: bytes.upperBound, by: 512)) }
  }

  static let size = 64 << 10
  let vault: TestVault
  let engine: Engine
  private(set) var frames: [Frame] = []

  init() throws {
    vault = try TestVault(segmentBytes: Self.size)
    engine = try vault.open()
    // The frame in which the opening says what is to be wiped.
    try note(page: nil, from: 0)
  }

  var disk: SimulatedDisk { vault.disk }

  private var journal: Journal {
    guard let journal = engine.journal else { preconditionFailure("opened for writing") }
    return journal
  }

  private var segment: String { SegmentCodec.fileName(journal.segmentName.number) }

  private func note(page: UInt32?, from start: Int) throws {
    frames.append(Frame(segment: segment, bytes: start..<Int(journal.filled), page: page))
  }

  /// Appends a frame of a few sectors.
  @discardableResult
  func append(pages: Int = 50) throws -> Frame {
    let start = Int(journal.filled)
    let made = try engine.makePages(pages)
    try note(page: made.last, from: start)
    return frames[frames.count - 1]
  }

  @discardableResult
  func appendSynced() throws -> Frame {
    let frame = try append()
    try sync()
    return frame
  }

  func sync() throws { try engine.syncJournal() }

  /// Goes on in another segment, as a checkpoint does that is then abandoned.
  @discardableResult
  func switchSegment() throws -> Frame {
    let (old, start) = (segment, Int(journal.filled))
    try engine.segments.fill()
    try engine.writer.withLock { writer throws(EngineError) in try engine.startSegment(&writer) }
    frames.append(Frame(segment: old, bytes: start..<(start + 512), page: nil))
    return frames[frames.count - 1]
  }

  /// A copy of the disk with one bit of a frame changed.
  func disk(flipping byte: Int, of segment: String) -> SimulatedDisk {
    let copy = disk.snapshot()
    copy.flipBit(of: segment, at: byte * 8)
    return copy
  }

  /// A copy of the disk on which frames are as if they had never been written.
  func disk(losing lost: [Frame]) -> SimulatedDisk {
    let copy = disk.snapshot()
    for frame in lost {
      copy.overwrite(
        frame.segment, at: frame.bytes.lowerBound,
        with: [UInt8](repeating: 0, count: frame.bytes.count))
    }
    return copy
  }

  /// The same, after a power loss that left it so.
  func settledDisk(losing lost: [Frame]) throws -> SimulatedDisk {
    let copy = disk(losing: lost)
    for name in copy.journal { try copy.open(name, writable: true).sync() }
    return copy
  }

  /// The gap for which an opening is refused; nil if it is not.
  func gap(on disk: SimulatedDisk) throws -> JournalGap? {
    do throws(EngineError) {
      _ = try Engine.open(
        on: disk, master: vault.master, vault: TestVault.vault, options: vault.options, anchor: nil)
      return nil
    } catch {
      guard case .journalDamaged(let gap) = error else { throw error }
      return gap
    }
  }
}

extension Engine {
  /// Whether a frame of a scene has been replayed.
  func has(_ frame: JournalScene.Frame) -> Bool {
    guard let page = frame.page else { return true }
    return (try? first(of: page)) == 7
  }

  /// What its opening had to tell, but for the anchor that these tests do without.
  var told: [OpenWarning] { warnings.filter { $0 != .anchorUnwritable } }

  /// How many frames were replayed, if they are the first ones and no other.
  func count(of frames: [JournalScene.Frame]) -> Int? {
    let found = frames.filter { $0.page != nil }.map { has($0) }
    let count = found.prefix { $0 }.count
    return found.dropFirst(count).contains(true) ? nil : count
  }
}
