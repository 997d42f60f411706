import Disk
import Format
import POSIX

/// Preallocated journal segments that no root and no frame names.
///
/// They are the journal's reserve (I8): the next checkpoint switches to one, and the opening after
/// a crash begins in the other, so that a full disk stops neither. Segments that a root has made
/// superfluous come back under new numbers, which costs no space and no allocation; their keys were
/// derived from seeds that are gone, and a new segment has a new one.
final class SegmentPool: Sendable {
  struct Segment {
    let number: UInt64
    let file: any DiskFile
  }

  /// One for the next checkpoint, one for the next opening.
  static let target = 2

  private struct State {
    var spares: [Segment] = []
    /// The number of the spare that is made next.
    var nextNumber: UInt64
    /// Files of lower numbers are not used again: one may have a sector that cannot be read.
    var firstSound: UInt64 = 0

    /// A number is used up by a spare that is there, so that the next one has the number that
    /// `successor` may have told.
    mutating func append(_ made: [Segment]) {
      spares += made
      nextNumber += UInt64(made.count)
    }
  }

  private let disk: any Disk
  let segmentBytes: UInt64
  private let state: Lock<State>
  /// Held while spares are made, so that they come in the order of their numbers.
  private let making = Lock(())

  init(disk: any Disk, segmentBytes: Int, nextNumber: UInt64) {
    self.disk = disk
    self.segmentBytes = UInt64(segmentBytes)
    state = Lock(State(nextNumber: nextNumber))
  }

  var count: Int { state.withLock { $0.spares.count } }

  /// A spare, if there is one; its file and name are durable.
  func take() -> Segment? {
    state.withLock { $0.spares.isEmpty ? nil : $0.spares.removeFirst() }
  }

  /// The number of the segment that `take` gives next, whether or not it is there yet.
  var successor: UInt64 { state.withLock { $0.spares.first?.number ?? $0.nextNumber } }

  /// Takes in what a session before left in the folder; `named` belongs to the journal still.
  /// Where the journal could not be read to its end, nothing of it is used again (`isDoubtful`):
  /// renewing a file reads nothing of it, so that a bad sector would go on to stop each mount.
  func adopt(except named: [UInt64], isDoubtful: Bool = false) throws(DiskError) {
    let names = try disk.list("journal").map { "journal/" + $0 }
    // Names are outside data: what is no segment's is left alone, and moves no number.
    let numbers = names.compactMap { SegmentCodec.number(ofFile: $0) }
    state.withLock { state in
      let near = numbers.filter { $0 < state.nextNumber &+ 1 << 32 }
      state.nextNumber = (near + named).reduce(state.nextNumber) { max($0, $1 &+ 1) }
      if isDoubtful { state.firstSound = state.nextNumber }
    }
    try recycle(numbers.filter { !named.contains($0) }.sorted())
  }

  /// Segments whose frames the durable root contains: kept as spares, or removed if there are
  /// enough.
  func recycle(_ numbers: [UInt64]) throws(DiskError) {
    try making.withLock { _ throws(DiskError) in
      let (first, firstSound) = state.withLock { ($0.nextNumber, $0.firstSound) }
      var kept: [Segment] = []
      for number in numbers {
        let name = SegmentCodec.fileName(number)
        if number >= firstSound, count + kept.count < Self.target,
          let segment = renew(name, first + UInt64(kept.count))
        {
          kept.append(segment)
        } else {
          try? disk.remove(name)
        }
      }
      guard !kept.isEmpty else { return }
      try disk.syncFolder("journal")
      state.withLock { $0.append(kept) }
    }
  }

  /// Makes spares until there are enough. Throws ENOSPC if the disk has no room for them.
  func fill() throws(DiskError) {
    while count < Self.target { try add() }
  }

  /// Makes one spare; its name is durable when this returns.
  func add() throws(DiskError) {
    try making.withLock { _ throws(DiskError) in
      let number = state.withLock { $0.nextNumber }
      let name = SegmentCodec.fileName(number)
      let file = try create(name)
      do throws(DiskError) {
        try file.allocate(0..<segmentBytes)
        try file.sync()
        try disk.syncFolder("journal")
      } catch {
        try? disk.remove(name)
        throw error
      }
      state.withLock { $0.append([Segment(number: number, file: file)]) }
    }
  }

  /// A failed attempt may have left the file.
  private func create(_ name: String) throws(DiskError) -> any DiskFile {
    do { return try disk.create(name) } catch {
      guard error.errno == .exists else { throw error }
      return try disk.open(name, writable: true)
    }
  }

  /// The file under a new number; nil if it is not what a spare must be.
  private func renew(_ name: String, _ number: UInt64) -> Segment? {
    let newName = SegmentCodec.fileName(number)
    do {
      let old = try disk.open(name, writable: true)
      guard try old.size() == segmentBytes else { return nil }
      // A crash may have come between creation and allocation.
      try old.allocate(0..<segmentBytes)
      try old.sync()
      try disk.rename(name, to: newName)
      return Segment(number: number, file: try disk.open(newName, writable: true))
    } catch { return nil }
  }
}
