import Format
import POSIX
import TestKit
import Testing

@testable import Volume

/// Whole chunks and pages that are zeroed, exchanged, moved, copied, or of an earlier time.
@Suite(.timeLimit(.minutes(15))) struct PieceTests {
  private typealias Patch = (object: String, offset: Int, bytes: [UInt8])

  private static func bytes(_ store: String, _ place: Places.Place) throws -> [UInt8] {
    try readBytes(store + "/" + place.object, place.range)
  }

  private static func patch(_ place: Places.Place, _ bytes: [UInt8]) -> [Patch] {
    [(place.object, place.range.lowerBound, bytes)]
      + (place.twin.map { [($0, place.range.lowerBound, bytes)] } ?? [])
  }

  /// A few of each kind, or all.
  private static func sample(_ places: Places) -> [Places.Place] {
    Places.Kind.allCases.filter { $0 != .root }.flatMap { kind in
      let all = places[kind]
      let step = Limits.isSoak ? 1 : max(1, all.count / 3)
      return stride(from: 0, to: all.count, by: step).map { all[$0] }
    }
  }

  /// Expects that pieces, in both copies where there are two, are noticed if they are read at all.
  private func check(
    _ stand: Bench, _ what: String, _ patches: [Patch], seen: Bool
  ) throws {
    let verdict = try Alteration.patch(stand.store, patches) { try stand.look() }
    #expect(
      seen ? verdict.isNoticed : verdict.isHonest, "\(what): \(verdict.summary)")
  }

  @Test func zeroed() throws {
    let stand = try Bench(.clean)
    let sample = Self.sample(stand.places)
    for place in sample {
      let zeros = [UInt8](repeating: 0, count: place.range.count)
      try check(stand, "\(place.name) zeroed", Self.patch(place, zeros), seen: place.isSeen)
    }
    try stand.expectUntouched()
    Tally.add(sample.count, "pieces zeroed")
  }

  /// Each with the next one of its kind, and with one of another kind.
  @Test func exchanged() throws {
    let stand = try Bench(.clean)
    let sample = Self.sample(stand.places)
    var cases = 0
    for (index, place) in sample.enumerated() {
      for other in [sample[(index + 1) % sample.count], sample[(index + 20) % sample.count]] {
        let (mine, theirs) = (
          try Self.bytes(stand.store, place), try Self.bytes(stand.store, other)
        )
        let seen = place.isSeen || other.isSeen
        let moved = Self.patch(place, theirs)
        try check(stand, "\(other.name) in \(place.name)", moved, seen: place.isSeen)
        let both = moved + Self.patch(other, mine)
        try check(stand, "\(other.name) and \(place.name) exchanged", both, seen: seen)
        cases += 2
      }
    }
    try stand.expectUntouched()
    Tally.add(cases, "pieces moved and exchanged")
  }

  /// What was in the same place before: the older chunk or page, with its own good tag then.
  @Test func older() throws {
    let stand = try Bench(.clean)
    let before = try Specimen.shared.get().path(.older)
    var cases = 0
    for place in stand.places.all where place.kind != .root {
      let old = try readBytes(before + "/" + place.object, place.range)
      guard old.count == place.range.count, old != (try Self.bytes(stand.store, place)) else {
        continue
      }
      try check(stand, "an older \(place.name)", Self.patch(place, old), seen: place.isSeen)
      cases += 1
    }
    #expect(cases > 20)
    try stand.expectUntouched()
    Tally.add(cases, "pieces of an older state")
  }
}
