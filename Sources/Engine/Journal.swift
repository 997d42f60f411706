import Bytes
import Crypto
import Disk
import Format
import POSIX

/// The sealed frames since the last root.
///
/// Appending belongs to the one writer. Syncing is a group commit: whoever comes while a sync runs
/// waits for the next one, which then serves all.
package final class Journal: Sendable {
  private struct Tail {
    var codec: SegmentCodec
    var file: any DiskFile
    /// Where the journal goes on after this segment.
    var successor: SegmentName
    var offset: UInt64 = 0
    var sequence: UInt64
    var previous: Tag
    let frame: Buffer
  }

  private struct Durability {
    /// The last sequence known to be on the disk without a gap.
    var durable: UInt64
    var syncing = false
    var failed: DiskError?
    /// Segments to sync with the last sequence each holds, oldest first: an older one before any
    /// newer one counts.
    var unsynced: [(file: any DiskFile, last: UInt64)]
    var appended: UInt64
  }

  /// Frames are bounded so that every one fits in a fresh segment.
  package static let maximumPayload = 2 << 20
  /// What transactions leave of a segment, for the frames that a checkpoint appends.
  static let checkpointRoom = 256 << 10

  private let segmentBytes: UInt64
  private let tail: Lock<Tail>
  private let durability: Monitor<Durability>

  /// A journal that begins in a segment this session has created.
  init(
    segment: (codec: SegmentCodec, file: any DiskFile), successor: SegmentName,
    segmentBytes: Int, nextSequence: UInt64, previous: Tag
  ) {
    self.segmentBytes = UInt64(segmentBytes)
    tail = Lock(
      Tail(
        codec: segment.codec, file: segment.file, successor: successor, sequence: nextSequence,
        previous: previous, frame: Buffer(count: SegmentCodec.paddedSize(Self.maximumPayload))))
    durability = Monitor(
      Durability(durable: nextSequence - 1, unsynced: [], appended: nextSequence - 1))
  }

  /// Whether any transaction's frame fits, and those of a checkpoint after it.
  var hasRoom: Bool {
    fits(
      min(Self.maximumPayload, Int(segmentBytes / 4))
        + min(Self.checkpointRoom, Int(segmentBytes / 16)))
  }

  /// Whether a payload fits in the segment, with room left for a switch frame.
  func fits(_ payload: Int) -> Bool {
    let size = UInt64(SegmentCodec.paddedSize(payload + SegmentCodec.preludeSize))
    return tail.withLock { $0.offset + size + 1024 <= segmentBytes }
  }

  /// The segment frames go to now.
  var segmentName: SegmentName { tail.withLock { $0.codec.name } }
  /// The segment after it, which the root or the switch frame before has promised.
  var successor: SegmentName { tail.withLock { $0.successor } }
  /// Bytes in the segment now.
  var filled: UInt64 { tail.withLock { $0.offset } }
  var position: (sequence: UInt64, previous: Tag) {
    tail.withLock { ($0.sequence, $0.previous) }
  }

  /// Appends one frame, written but not synced. Returns its sequence.
  func append(_ records: Buffer, _ length: Int) throws(DiskError) -> UInt64 {
    let durable = durability.withLock { $0.durable }
    return try tail.withLock { tail throws(DiskError) in
      let payload = Buffer(
        count: SegmentCodec.payloadSize(SegmentCodec.preludeSize + length))
      payload.store(tail.sequence, at: 0)
      tail.previous.store(to: payload, at: 8)
      payload.store(durable, at: 24)
      payload.copy(from: records, 0..<length, to: SegmentCodec.preludeSize)
      let size = SegmentCodec.paddedSize(payload.count)
      precondition(tail.offset + UInt64(size) <= segmentBytes, "the caller made room")
      let tag = tail.codec.seal(payload, payload.count, at: tail.offset, into: tail.frame)
      try tail.file.write(tail.frame.bytes(in: 0..<size), at: tail.offset)
      tail.offset += UInt64(size)
      tail.previous = tag
      let sequence = tail.sequence
      tail.sequence += 1
      let file = tail.file
      durability.withLock { state in
        if let last = state.unsynced.indices.last, state.unsynced[last].file === file {
          state.unsynced[last].last = sequence
        } else {
          state.unsynced.append((file, sequence))
        }
        state.appended = sequence
      }
      return sequence
    }
  }

  /// Appends a switch frame and goes on in the segment that was promised, whose file and name the
  /// caller has made durable.
  func switchTo(
    _ codec: SegmentCodec, _ file: any DiskFile, then successor: SegmentName
  ) throws(DiskError) {
    precondition(codec.name == self.successor, "the journal goes on where it was said to")
    var writer = ByteWriter(capacity: 128)
    JournalRecord.encodeNext(codec.name, then: successor, to: &writer)
    _ = try append(writer.buffer, writer.count)
    tail.withLock { tail in
      tail.codec = codec
      tail.file = file
      tail.successor = successor
      tail.offset = 0
    }
  }

  /// Waits until a frame and all before it are durable. A failed sync is never repeated and called
  /// good.
  func sync(through sequence: UInt64) throws(DiskError) {
    while true {
      let work: (files: [any DiskFile], through: UInt64)? = try durability.withLock(
        when: { !$0.syncing || $0.durable >= sequence || $0.failed != nil }, timeout: nil
      ) { state throws(DiskError) in
        if let failed = state.failed { throw failed }
        if state.durable >= sequence { return nil }
        state.syncing = true
        return (state.unsynced.map { $0.file }, state.appended)
      }
      guard let work else { return }
      var failure: DiskError?
      do { for file in work.files { try file.sync() } } catch { failure = error }
      durability.withLock { state in
        state.syncing = false
        state.failed = failure
        guard failure == nil else { return }
        state.durable = max(state.durable, work.through)
        // Any of them may have grown since, the one before a switch as well.
        state.unsynced.removeAll { $0.last <= work.through }
      }
      if let failure { throw failure }
    }
  }

  /// What is known to be on the disk, without a gap.
  var durableSequence: UInt64 { durability.withLock { $0.durable } }

  /// Everything appended so far.
  var appendedSequence: UInt64 { durability.withLock { $0.appended } }
}
