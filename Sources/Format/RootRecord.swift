package import Bytes

/// The top of one metadata file's tag tree: 16 references, `height` levels of tables below them.
package struct TreeTop: Hashable, Sendable {
  package var height: UInt8 = 0
  package var references = [Reference](repeating: .hole, count: Layout.topReferences)

  package init() {}

  /// Pages the tree can name at this height.
  package var capacity: UInt64 { UInt64(Layout.topReferences) << (7 * UInt64(height)) }
}

/// A segment of the journal, as a root or a switch frame names it.
///
/// A segment is always named together with the one to come after it. So what was synced in the next
/// one shows that a switch frame was lost, though that frame was to lead there.
package struct SegmentName: Hashable, Sendable {
  package var number: UInt64
  /// The 32 random bytes the segment's keys are derived from.
  package var seed: [UInt8]

  package init(number: UInt64, seed: [UInt8]) {
    self.number = number
    self.seed = seed
  }
}

/// The one record from which everything else is verified; stored sealed in two files.
package struct RootRecord: Sendable {
  package var generation: UInt64 = 0
  package var session = [UInt8](repeating: 0, count: 16)
  package var configurationGeneration: UInt64 = 0
  package var metadataSeed = [UInt8](repeating: 0, count: 32)
  /// While re-keying, the seed before; zeros otherwise.
  package var oldMetadataSeed = [UInt8](repeating: 0, count: 32)
  /// While re-keying, the page to go on with: its id.
  package var rekeyedPages: UInt64 = 0
  /// Seals under the newest metadata key.
  package var metadataSeals: UInt64 = 0
  /// Recoveries after an unclean stop; each may have lost one unit of every file's seal count.
  package var uncleanStops: UInt32 = 0
  package var segment = SegmentName(number: 0, seed: [UInt8](repeating: 0, count: 32))
  /// The segment that comes after that one, if any does.
  package var successor = SegmentName(number: 0, seed: [UInt8](repeating: 0, count: 32))
  /// The sequence number of the segment's first frame and the tag of the frame before it.
  package var firstSequence: UInt64 = 1
  package var previousTagLow: UInt64 = 0
  package var previousTagHigh: UInt64 = 0
  package var usedMetaSlots: UInt64 = 0
  package var lineageCount: UInt64 = 0
  package var tops = [TreeTop](repeating: TreeTop(), count: MetadataFile.allCases.count)

  package init() {}

  private static let magic: UInt64 = 0x0031_544f_4f52_4643  // "CFROOT1\0"

  /// The plaintext of a root file: 8192 - 12 - 16 bytes, the unused rest zero.
  package func encoded() -> Buffer {
    let size = Layout.rootSize - 28
    var writer = ByteWriter(capacity: size)
    writer.integer(Self.magic)
    writer.integer(Layout.version)
    writer.integer(UInt32(0))  // feature flags
    writer.integer(generation)
    writer.bytes(session)
    writer.integer(configurationGeneration)
    writer.bytes(metadataSeed)
    writer.bytes(oldMetadataSeed)
    writer.integer(rekeyedPages)
    writer.integer(metadataSeals)
    writer.integer(uncleanStops)
    writer.integer(UInt32(0))
    writer.integer(segment.number)
    writer.bytes(segment.seed)
    writer.integer(successor.number)
    writer.bytes(successor.seed)
    writer.integer(firstSequence)
    writer.integer(previousTagLow)
    writer.integer(previousTagHigh)
    writer.integer(usedMetaSlots)
    writer.integer(lineageCount)
    for top in tops {
      writer.integer(UInt64(top.height))
      for reference in top.references {
        let start = writer.count
        writer.zeros(Layout.referenceSize)
        reference.store(to: writer.buffer, at: start)
      }
    }
    precondition(writer.count <= size)
    writer.zeros(size - writer.count)
    return writer.buffer
  }

  /// Why a root that authenticates is still not usable.
  package enum Problem: Error { case unsupported, malformed }

  package init(decoding buffer: Buffer) throws(Problem) {
    var reader = ByteReader(buffer)
    guard reader.uint64() == Self.magic, let version = reader.uint32(), let flags = reader.uint32()
    else { throw .malformed }
    guard version == Layout.version, flags == 0 else { throw .unsupported }
    guard let generation = reader.uint64(), let session = reader.bytes(16),
      let configuration = reader.uint64(), let seed = reader.bytes(32),
      let oldSeed = reader.bytes(32), let rekeyed = reader.uint64(), let seals = reader.uint64(),
      let unclean = reader.uint32(), reader.uint32() == 0,
      let number = reader.uint64(), let segmentSeed = reader.bytes(32),
      let nextNumber = reader.uint64(), let nextSeed = reader.bytes(32),
      let sequence = reader.uint64(), let tagLow = reader.uint64(), let tagHigh = reader.uint64(),
      let used = reader.uint64(), let lineage = reader.uint64()
    else { throw .malformed }
    // One more than each of these is written next, or one less was written before.
    let limit: UInt64 = 1 << 62
    guard generation < limit, configuration < limit, seals < limit, unclean < 1 << 31,
      number < limit, nextNumber < limit, sequence > 0, sequence < limit, used < 1 << 32,
      lineage < 1 << 32,
      rekeyed >> 40 < UInt64(MetadataFile.allCases.count)
    else { throw .malformed }
    self.generation = generation
    self.session = session
    configurationGeneration = configuration
    metadataSeed = seed
    oldMetadataSeed = oldSeed
    rekeyedPages = rekeyed
    metadataSeals = seals
    uncleanStops = unclean
    segment = SegmentName(number: number, seed: segmentSeed)
    successor = SegmentName(number: nextNumber, seed: nextSeed)
    firstSequence = sequence
    previousTagLow = tagLow
    previousTagHigh = tagHigh
    usedMetaSlots = used
    lineageCount = lineage
    for index in tops.indices {
      guard let height = reader.uint64(), height <= 4 else { throw .malformed }
      tops[index].height = UInt8(height)
      for entry in 0..<Layout.topReferences {
        guard let range = reader.range(Layout.referenceSize) else { throw .malformed }
        tops[index].references[entry] = Reference(from: buffer, at: range.lowerBound)
      }
    }
    guard buffer.isZero(reader.offset..<buffer.count) else { throw .malformed }
  }
}
