import Format
import POSIX
import TestKit
import Testing

@testable import Volume

/// Writing to an altered store makes nothing worse.
@Suite(.timeLimit(.minutes(15))) struct WriteTests {
  /// A few pieces of each kind, all of a kind there are few of.
  private static func sample(_ places: Places) -> [Places.Place] {
    Places.Kind.allCases.flatMap { kind in
      let all = places[kind]
      let step = Limits.isSoak ? max(1, all.count / 60) : max(1, all.count / 2)
      return stride(from: 0, to: all.count, by: step).map { all[$0] }
    }
  }

  private static func flip(_ store: String, _ object: String, _ offset: Int) throws {
    let old = try readBytes(store + "/" + object, offset..<(offset + 1))
    try writeBytes(store + "/" + object, old.map { $0 ^ 0x10 }, at: offset)
  }

  /// In one copy: everything goes on as if nothing had been, and the copy is good again.
  @Test func oneBadTwinIsMended() throws {
    let first = try Bench(.clean)
    let sample = Self.sample(first.places).filter { $0.twin != nil && $0.isSeen }
    for place in sample {
      let stand = try first.fork()
      let before = try readBytes(stand.store + "/" + place.object, place.range)
      try Self.flip(stand.store, place.object, place.range.lowerBound + 100)
      let writing = Writing(stand)
      try writing.run()
      #expect(writing.isRight, "\(place.name): \(writing.summary)")
      // It is as it was, unless a checkpoint has given the slot up and wiped it.
      let now = try readBytes(stand.store + "/" + place.object, place.range)
      #expect(now == before || now.allSatisfy { $0 == 0 }, "\(place.name) is not mended")
    }
    Tally.add(sample.count, "writes with one bad copy")
  }

  /// In both copies, or the only one.
  @Test func whatIsLostStaysOne() throws {
    let first = try Bench(.clean)
    let sample = Self.sample(first.places).filter { $0.kind != .root }
    for place in sample {
      let stand = try first.fork()
      for object in [place.object, place.twin].compactMap({ $0 }) {
        try Self.flip(stand.store, object, place.range.lowerBound + 100)
      }
      let writing = Writing(stand)
      try writing.run()
      #expect(writing.isHonest, "\(place.name): \(writing.summary)")
    }
    Tally.add(sample.count, "writes with a piece lost")
  }

  /// Objects cut, drawn out or gone, of both states.
  @Test(arguments: [Specimen.State.clean, .killed])
  func objectsAreCutOrGone(state: Specimen.State) throws {
    let first = try Bench(state)
    var cases = 0
    for object in ShapeTests.objects(first.store) {
      let size = try sizeOf(first.store + "/" + object)
      for newSize in [nil, 0, size / 2, size + 4096, 1 << 40] as [Int?] {
        // What is after a root is another test's.
        if state == .killed, object.hasPrefix("journal/") { continue }
        let stand = try first.fork()
        let path = stand.store + "/" + object
        if let newSize {
          try System.resize(System.open(path, .readWrite), to: UInt64(newSize))
        } else {
          removeAll(path)
        }
        let writing = Writing(stand)
        try writing.run()
        cases += 1
        let what = newSize.map { "\($0) bytes of" } ?? "no"
        #expect(writing.isHonest, "\(what) \(object): \(writing.summary)")
        // What is there twice, or means nothing, is not missed.
        let isSpare = object.hasPrefix("meta-") || object.hasPrefix("root.") || object == "reserve"
        #expect(writing.isRight || !isSpare, "\(what) \(object): \(writing.summary)")
      }
    }
    Tally.add(cases, "writes with objects cut, drawn out or gone, \(state)")
  }

  /// A copy of the root that somebody drew out is a good copy again after the next mount: later the
  /// other one may go.
  @Test(arguments: ["root.0", "root.1"]) func aRootThatWasDrawnOutIsMended(name: String) throws {
    let stand = try Bench(.clean)
    try System.resize(
      System.open(stand.store + "/" + name, .readWrite), to: UInt64(Layout.rootSize + 1))
    let writing = Writing(stand)
    try writing.run()
    #expect(writing.isRight, "\(writing.summary)")
    let other = name == "root.0" ? "root.1" : "root.0"
    removeAll(stand.store + "/" + other)
    let volume = try stand.specimen.open(stand.store, anchor: stand.anchor, readOnly: true)
    let findings = stand.tree.without(
      Set(["/desk", "/desk/old"].map { stand.tree.entry($0).inode })
    ).examine(volume)
    #expect(findings.wrong.isEmpty && findings.damage.isEmpty)
    try volume.close()
  }
}
