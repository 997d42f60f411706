import Volume

/// Operations at random from a seed: few names, so that they meet, and sizes around the chunk's edge.
package struct OperationGenerator: Sendable {
  private var random: SplitMix64
  /// The largest offset or size. Beyond 3 chunks a file has a table, beyond 131 a pointer page.
  private let largest: Int

  package init(seed: UInt64, largest: Int = 140 * 4096) {
    random = SplitMix64(seed: seed)
    self.largest = largest
  }

  private static let names: [[UInt8]] =
    ["a", "b", "c", "d", "e"].map { Array($0.utf8) }
    + [[0xff, 0xfe, 0x80], [UInt8](repeating: 0x6c, count: 255)]
  private static let attributes = ["user.a", "user.b", "user.long"].map { Array($0.utf8) }

  private mutating func path() -> Path {
    let depth = random.pick([1, 1, 1, 2, 2, 3])
    return (0..<depth).map { _ in random.pick(Self.names) }
  }

  private mutating func size() -> Int {
    let edges = [0, 1, 100, 4095, 4096, 4097, 8192, 12287, 12288, 12289, 20480, 131 * 4096]
    var size = random.pick(edges)
    if random.chance(30) { size = random.below(24 * 4096) }
    if random.chance(5) { size = random.below(largest) }
    return min(size, largest)
  }

  package mutating func next() -> Operation {
    switch random.below(100) {
    case 0..<14: .create(path())
    case 14..<22: .makeDirectory(path())
    case 22..<50: .write(path(), at: size(), count: length(), fill: random.next())
    case 50..<56: .truncate(path(), to: size())
    case 56..<60: punch()
    case 60..<66: .unlink(path())
    case 66..<70: .removeDirectory(path())
    case 70..<80:
      .rename(path(), to: path(), random.pick([.replace, .replace, .noReplace, .exchange]))
    case 80..<84: .link(path(), as: path())
    case 84..<87: .symlink(path(), target: random.bytes(random.pick([1, 96, 97, 4095])))
    case 87..<92: setAttribute()
    case 92..<94: .removeAttribute(path(), random.pick(Self.attributes))
    default: .sync(random.chance(30) ? [] : path())
    }
  }

  private mutating func length() -> Int {
    random.pick([1, 10, 100, 4095, 4096, 4097, 8192, 5 * 4096, 1 + random.below(12 * 4096)])
  }

  private mutating func punch() -> Operation {
    let start = size()
    return .punch(path(), start..<(start + length()))
  }

  private mutating func setAttribute() -> Operation {
    .setAttribute(
      path(), random.pick(Self.attributes), count: random.pick([0, 1, 100, 4088, 5000]),
      fill: random.next())
  }
}
