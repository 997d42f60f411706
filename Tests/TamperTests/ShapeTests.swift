import Format
import Glibc
import POSIX
import TestKit
import Testing

@testable import Engine
@testable import Volume

/// An object is shorter, longer, empty, gone, or has something of another one in it.
@Suite(.timeLimit(.minutes(15))) struct ShapeTests {
  /// Every object of a closed store that opening and reading may need.
  static func objects(_ store: String) -> [String] {
    filesBelow(store).map { String($0.dropFirst(store.count + 1)) }.filter {
      !["lock", "CACHEDIR.TAG", ".nobackup", "coffre.conf", "coffre.conf.copy"].contains($0)
    }
  }

  /// The sizes at which a file of this size is cut or to which it is drawn out.
  private static func sizes(_ size: Int) -> [Int] {
    let edges = [0, 1, 48, 511, 512, 4095, 4096, 4097, 8191, 8192, 8193, 65536]
    let around = [size / 2, size / 2 + 1, size - 4096, size - 1, size + 1, size + 4096]
    let all = Set((edges + around).filter { $0 >= 0 && $0 != size }).sorted()
    let sample = all.enumerated().filter { Limits.takes($0.offset, of: 6) }.map(\.element)
    return sample + [1 << 40]
  }

  private static func resize(_ object: String, _ size: Int) -> Alteration {
    Alteration("\(object) is \(size) bytes long", [object]) { store in
      let file = try System.open(store + "/" + object, .readWrite)
      try System.resize(file, to: UInt64(size))
    }
  }

  private static func fill(_ object: String, _ range: Range<Int>, hole: Bool) -> Alteration {
    Alteration("\(object) \(range) \(hole ? "a hole" : "zeros")", [object]) { store in
      if hole {
        let file = try System.open(store + "/" + object, .readWrite)
        _ = try System.punch(file, UInt64(range.lowerBound)..<UInt64(range.upperBound))
      } else {
        let zeros = [UInt8](repeating: 0, count: range.count)
        try writeBytes(store + "/" + object, zeros, at: range.lowerBound)
      }
    }
  }

  /// The same done to both twins.
  private static func both(_ alteration: Alteration, _ other: Alteration) -> Alteration {
    Alteration("\(alteration.name) and \(other.name)", alteration.objects + other.objects) {
      try alteration.apply(to: $0)
      try other.apply(to: $0)
    }
  }

  /// In pairs: what is done to one of two copies alone, which must not matter, and to both.
  private func check(
    _ stand: Bench, _ objects: [String], _ what: String,
    _ alterations: (String) throws -> [Alteration]
  ) throws {
    var cases = 0
    for object in objects {
      let twin = Self.twin(of: object)
      let second = try twin.map { try alterations($0) }
      for (index, alteration) in try alterations(object).enumerated() {
        let one = try alteration.with(stand.store) { try stand.look(after: alteration) }
        cases += 1
        #expect(twin == nil ? one.isHonest : one.isRight, "\(alteration.name): \(one.summary)")
        guard let second, index < second.count else { continue }
        let all = Self.both(alteration, second[index])
        let two = try all.with(stand.store) { try stand.look(after: all) }
        cases += 1
        #expect(two.isHonest, "\(all.name): \(two.summary)")
      }
    }
    try stand.expectUntouched()
    Tally.add(cases, what)
  }

  private static func twin(of object: String) -> String? {
    if object.hasPrefix("meta-a/") { return "meta-b/" + object.dropFirst(7) }
    return object == "root.0" ? "root.1" : nil
  }

  @Test(arguments: [Specimen.State.clean, .killed]) func objectsCutAndDrawnOut(
    state: Specimen.State
  ) throws {
    let stand = try Bench(state)
    try check(stand, Self.objects(stand.store), "objects cut or drawn out, \(state)") { object in
      try Self.sizes(sizeOf(stand.store + "/" + object)).map { Self.resize(object, $0) }
    }
  }

  @Test(arguments: [Specimen.State.clean, .killed]) func objectsZeroedAndPunched(
    state: Specimen.State
  ) throws {
    let stand = try Bench(state)
    try check(stand, Self.objects(stand.store), "zeros and holes, \(state)") { object in
      let size = try sizeOf(stand.store + "/" + object)
      guard size > 0 else { return [] }
      let ranges = [0..<size, 0..<min(4096, size), (size / 2)..<size, (size - 1)..<size]
      return ranges.flatMap {
        [Self.fill(object, $0, hole: false), Self.fill(object, $0, hole: true)]
      }
    }
  }

  /// Every object deleted, and every pair of copies.
  @Test(arguments: [Specimen.State.clean, .killed]) func objectsDeleted(
    state: Specimen.State
  ) throws {
    let stand = try Bench(state)
    let objects = Self.objects(stand.store) + ["data", "meta-a", "journal"]
    try check(stand, objects, "objects deleted, \(state)") { object in
      [Alteration("\(object) is gone", [object]) { removeAll($0 + "/" + object) }]
    }
  }

  /// Another object of the store is copied over an object, or they change places.
  @Test(arguments: [Specimen.State.clean, .killed]) func objectsInEachOthersPlace(
    state: Specimen.State
  ) throws {
    let stand = try Bench(state)
    let objects = Self.objects(stand.store)
    var cases = 0
    for one in objects {
      for other in objects where one != other {
        let copied = Alteration("\(other) copied over \(one)", [one]) { store in
          try copyFile(store + "/" + other, to: store + "/" + one)
        }
        let swapped = Alteration("\(one) and \(other) swapped", [one, other]) { store in
          try move(store + "/" + one, to: store + "/between")
          try move(store + "/" + other, to: store + "/" + one)
          try move(store + "/between", to: store + "/" + other)
        }
        // Of the killed one mainly its journal is another thing.
        if !Limits.isSoak, state == .killed, !(one + other).contains("journal") { continue }
        for alteration in one < other ? [copied, swapped] : [copied] {
          let verdict = try alteration.with(stand.store) { try stand.look(after: alteration) }
          cases += 1
          #expect(verdict.isHonest, "\(alteration.name): \(verdict.summary)")
        }
      }
    }
    try stand.expectUntouched()
    Tally.add(cases, "objects copied over others or swapped, \(state)")
  }
}
