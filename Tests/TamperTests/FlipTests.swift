import Engine
import Format
import POSIX
import TestKit
import Testing

@testable import Volume

/// One bit of a stored thing is another one. In one of two copies that is made good from the other
/// one; in the only copy, or in both, it is noticed where it is read.
@Suite(.timeLimit(.minutes(15))) struct FlipTests {
  private static let seed: UInt64 = 0x5eed

  /// Bits of a region: its ends and some between, or each of them.
  static func bits(
    _ range: Range<Int>, _ count: Int, _ random: inout SplitMix64
  ) -> [(byte: Int, bit: Int)] {
    var found = [(range.lowerBound, 0), (range.upperBound - 1, 7)]
    while found.count < count {
      found.append((range.lowerBound + random.below(range.count), random.below(8)))
    }
    return found
  }

  private static func flipped(
    _ store: String, _ object: String, _ at: (byte: Int, bit: Int)
  ) throws -> (object: String, offset: Int, bytes: [UInt8]) {
    let old = try readBytes(store + "/" + object, at.byte..<(at.byte + 1))
    return (object, at.byte, [(old.first ?? 0) ^ UInt8(1 << at.bit)])
  }

  @Test func inFileChunks() throws {
    let stand = try Bench(.clean)
    let specimen = stand.specimen
    var random = SplitMix64(seed: Self.seed)
    let chunks = stand.places[.chunk]
    #expect(chunks.count > 500)
    // Chunks are not kept in memory, so one opening serves all of them.
    let volume = try specimen.open(stand.store, anchor: nil, readOnly: true)
    let whole = stand.tree
    var cases = 0
    for (index, place) in chunks.enumerated() {
      let entry = whole.entry(place.file)
      for at in Self.bits(place.range, Limits.isSoak ? 64 : 1, &random) {
        let patch = try Self.flipped(stand.store, place.object, at)
        let findings = try Alteration.patch(stand.store, [patch]) {
          // Whether the rest is as before is looked at now and then; it takes long.
          if index % 50 == 0 { return whole.examine(volume) }
          return whole.examineContents(entry, volume)
        }
        cases += 1
        #expect(
          findings.wrong.isEmpty && findings.damage.count == 1,
          "\(place.name) bit \(at): \(findings.damage) \(findings.wrong.prefix(3))")
      }
    }
    let after = whole.examine(volume)
    #expect(after.wrong.isEmpty && after.damage.isEmpty)
    try volume.close()
    Tally.add(cases, "bit flips in file chunks")
  }

  @Test(arguments: [Places.Kind.inodeTable, .directory, .chunkTable, .pointerPage, .attributePage])
  func inPages(of kind: Places.Kind) throws { try flipPages(kind) }

  @Test(arguments: [Places.Kind.symlinkPage, .map, .system, .lineage, .tagTable])
  func inOtherPages(of kind: Places.Kind) throws { try flipPages(kind) }

  private func flipPages(_ kind: Places.Kind) throws {
    let stand = try Bench(.clean)
    var random = SplitMix64(seed: Self.seed &+ UInt64(kind.rawValue.utf8.count))
    let pages = stand.places[kind]
    #expect(!pages.isEmpty, "the specimen has a \(kind)")
    var cases = 0
    for (index, page) in pages.enumerated() where Limits.takes(index, of: 3) {
      let twin = try #require(page.twin)
      for at in Self.bits(page.range, Limits.isSoak ? 32 : 2, &random) {
        let first = try Self.flipped(stand.store, page.object, at)
        let second = try Self.flipped(stand.store, twin, at)
        for (patches, both) in [([first], false), ([second], false), ([first, second], true)] {
          let verdict = try Alteration.patch(stand.store, patches) { try stand.look() }
          cases += 1
          let isExpected =
            both && page.isSeen ? verdict.isNoticed : verdict.isRight
          #expect(isExpected, "\(page.name) bit \(at) both \(both): \(verdict.summary)")
        }
      }
    }
    try stand.expectUntouched()
    Tally.add(cases, "bit flips in pages (\(kind))")
  }

  @Test func inTheRoot() throws {
    let stand = try Bench(.clean)
    var random = SplitMix64(seed: Self.seed)
    var cases = 0
    for at in Self.bits(0..<Layout.rootSize, Limits.isSoak ? 8192 : 16, &random) {
      let first = try Self.flipped(stand.store, "root.0", at)
      let second = try Self.flipped(stand.store, "root.1", at)
      for (patches, both) in [([first], false), ([second], false), ([first, second], true)] {
        let verdict = try Alteration.patch(stand.store, patches) { try stand.look() }
        cases += 1
        #expect(both ? verdict.refusal != nil : verdict.isRight, "\(at): \(verdict.summary)")
        #expect(verdict.isHonest, "\(at): \(verdict.summary)")
        if !both { #expect(verdict.warnings.contains(.rootCopyHealed)) }
      }
    }
    Tally.add(cases, "bit flips in the root")
  }
}
