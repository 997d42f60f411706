import Volume

/// Operations at random from a seed: few names, so that they meet, and sizes around the edges of
/// chunks.
package struct OperationGenerator: Sendable {
  private var random: SplitMix64
  /// The largest offset or size. Beyond 3 chunks a file has a table, beyond 131 a pointer page.
  private let largest: Int
  /// Whether modes, times, FIFOs and fallocate(2) are among them, which not every driver does.
  private let isWide: Bool

  /// Times that are set are before this, those of the clock after.
  static let latestTime: Int64 = 1_000_000

  package init(seed: UInt64, largest: Int = 140 * 4096, isWide: Bool = false) {
    random = SplitMix64(seed: seed)
    self.largest = largest
    self.isWide = isWide
  }

  private static let names: [[UInt8]] =
    ["a", "b", "c", "d", "e"].map { Array($0.utf8) }
    + [[0xff, 0xfe, 0x80], [UInt8](repeating: 0x6c, count: 255)]
  private static let attributes = ["user.a", "user.b", "user.long"].map { Array($0.utf8) }

  /// Any path, mostly of nothing.
  private mutating func path() -> Path {
    let depth = random.pick([1, 1, 1, 2, 2, 3])
    return (0..<depth).map { _ in random.pick(Self.names) }
  }

  /// Mostly a path of something: a file in three of four cases.
  private mutating func old(_ tree: Tree, directory: Bool = false) -> Path {
    guard random.chance(85) else { return path() }
    let wanted = random.chance(75) != directory ? tree.others : tree.directories
    return wanted.isEmpty ? path() : random.pick(wanted)
  }

  /// Mostly a path in a directory that is there.
  private mutating func new(_ tree: Tree) -> Path {
    guard random.chance(85) else { return path() }
    let parents = tree.directories.filter { $0.count < 3 } + [[]]
    return random.pick(parents) + [random.pick(Self.names)]
  }

  private mutating func size() -> Int {
    let edges = [0, 1, 100, 4095, 4096, 4097, 8192, 12287, 12288, 12289, 20480, 131 * 4096]
    var size = random.pick(edges)
    if random.chance(30) { size = random.below(24 * 4096) }
    if random.chance(5) { size = random.below(largest) }
    return min(size, largest)
  }

  /// The next operation, on any paths: most find nothing there.
  package mutating func next() -> Operation { next(in: ModelVolume()) }

  /// The next operation, most likely one that `model` can do.
  package mutating func next(in model: ModelVolume) -> Operation {
    let tree = model.tree
    if isWide && random.chance(15) { return wide(tree) }
    return switch random.below(100) {
    case 0..<14: .create(new(tree))
    case 14..<20: .makeDirectory(new(tree))
    case 20..<50: .write(old(tree), at: size(), count: length(), fill: random.next())
    case 50..<56: .truncate(old(tree), to: size())
    case 56..<60: punch(old(tree))
    case 60..<66: .unlink(old(tree))
    case 66..<70: .removeDirectory(old(tree, directory: true))
    case 70..<75: .rename(old(tree), to: new(tree), random.pick([.replace, .noReplace]))
    case 75..<78:
      .rename(
        old(tree, directory: true), to: new(tree), random.pick([.replace, .exchange]))
    case 78..<80: .rename(old(tree), to: old(tree), random.pick([.replace, .exchange]))
    case 80..<84: .link(old(tree), as: new(tree))
    case 84..<87: .symlink(new(tree), target: random.bytes(random.pick([1, 96, 97, 4095])))
    case 87..<92: setAttribute(old(tree))
    case 92..<94: .removeAttribute(old(tree), random.pick(Self.attributes))
    default: .sync(random.chance(30) ? [] : old(tree))
    }
  }

  private mutating func wide(_ tree: Tree) -> Operation {
    switch random.below(6) {
    case 0: return .makeFIFO(new(tree))
    case 1: return .setMode(old(tree), random.pick([0o600, 0o640, 0o755, 0o400]))
    case 2: return .setTimes(old(tree), Int64(random.below(Int(Self.latestTime))))
    case 3:
      let start = size()
      return .allocate(old(tree), start..<(start + length()))
    default:
      let start = size()
      return .zero(old(tree), start..<(start + length()))
    }
  }

  private mutating func length() -> Int {
    random.pick([1, 10, 100, 4095, 4096, 4097, 8192, 5 * 4096, 1 + random.below(12 * 4096)])
  }

  private mutating func punch(_ path: Path) -> Operation {
    let start = size()
    return .punch(path, start..<(start + length()))
  }

  private mutating func setAttribute(_ path: Path) -> Operation {
    .setAttribute(
      path, random.pick(Self.attributes), count: random.pick([0, 1, 100, 4088, 5000]),
      fill: random.next())
  }
}

/// What there is in a model, to choose from; the root is left out.
private struct Tree {
  var directories: [Path] = []
  var others: [Path] = []
}

extension ModelVolume {
  fileprivate var tree: Tree {
    var tree = Tree()
    func visit(_ number: Int, _ path: Path) {
      guard let entries = node(number).entries else {
        tree.others.append(path)
        return
      }
      if !path.isEmpty { tree.directories.append(path) }
      // In order, so that a seed always means the same.
      for name in entries.keys.sorted(by: { $0.lexicographicallyPrecedes($1) }) {
        if let child = entries[name] { visit(child, path + [name]) }
      }
    }
    visit(Self.root, [])
    return tree
  }
}
