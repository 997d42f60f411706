import Bytes
import Crypto
import Disk
import Format
import POSIX

/// Looks behind the place where replay stopped, for frames that tell whether the journal ended
/// there (I5).
///
/// That frames are there is no damage: a power cut may lose what was not synced, and keep what was
/// written after it, in the next segment as well. But a frame also says which sequence was known to
/// be durable when it was written. If that is beyond the last frame replayed, one is damaged.
struct JournalSearch {
  let disk: any Disk
  let vault: [UInt8]
  let segmentBytes: Int
  let lastSequence: UInt64
  private(set) var frames = 0
  private(set) var provesDamage = false
  /// Later segments with frames in them, or with sectors that could not be read.
  private(set) var segments: [UInt64] = []
  /// A later segment that may hold more than what was seen of it.
  private(set) var unreadable: (object: String, cause: JournalGap.Cause)?
  private var names: [SegmentName] = []

  init(disk: any Disk, vault: [UInt8], segmentBytes: Int, lastSequence: UInt64) {
    self.disk = disk
    self.vault = vault
    self.segmentBytes = segmentBytes
    self.lastSequence = lastSequence
  }

  /// Looks at every place of a segment where a frame may begin.
  mutating func look(in segment: Buffer, _ codec: SegmentCodec, from start: Int) {
    for offset in stride(from: start, to: segment.count, by: Layout.frameAlignment) {
      guard let frame = codec.open(segment, at: offset) else { continue }
      frames += 1
      if frame.payload.load(UInt64.self, at: 24) > lastSequence { provesDamage = true }
      note(frame.payload)
    }
  }

  /// A switch frame names two more segments.
  private mutating func note(_ payload: Buffer) {
    var reader = ByteReader(payload, in: SegmentCodec.preludeSize..<payload.count)
    while reader.remaining > 0, let record = JournalRecord.decode(&reader) {
      if case .next(let name, let successor) = record { names += [name, successor] }
    }
  }

  /// Looks through the successor of the segment where replay stopped, and through all that come
  /// after it, as far as they are named.
  mutating func follow(
    _ successor: SegmentName, master: borrowing SecretBytes
  ) throws(EngineError) {
    names.append(successor)
    var seen: Set<UInt64> = []
    while let name = names.popLast() {
      guard seen.insert(name.number).inserted else { continue }
      let image = try SegmentImage(name.number, of: segmentBytes, on: disk)
      if case .unreadable(let errno) = image.doubt(from: 0) {
        unreadable = (SegmentCodec.fileName(name.number), .unreadable(errno))
      }
      let before = frames
      look(in: image.bytes, SegmentCodec(name, master: master, vault: vault), from: 0)
      if frames > before || image.errno != nil { segments.append(name.number) }
    }
  }
}
