/// What is fuzzed: each a decoder of bytes that somebody else made. No input may trap.
enum FuzzTarget: String, CaseIterable, Sendable {
  // Anybody who can write to the disk makes these.
  case configuration, frame, anchor
  // Authentic, but made by somebody who has the keys.
  case root, records, inode, directory, table, attributes, maps, audit, volume
  // Another process, or the command line.
  case message, arguments, options, password

  func run(_ bytes: [UInt8]) {
    switch self {
    case .configuration: TextTargets.configuration(bytes)
    case .message: TextTargets.message(bytes)
    case .arguments: TextTargets.arguments(bytes)
    case .options: TextTargets.options(bytes)
    case .password: TextTargets.password(bytes)
    case .frame: StoreTargets.frame(bytes)
    case .anchor: StoreTargets.anchor(bytes)
    case .root: StoreTargets.root(bytes)
    case .records: StoreTargets.records(bytes)
    case .inode, .directory, .table, .attributes, .maps, .audit: TreeTargets.pages(bytes, self)
    case .volume: TreeTargets.volume(bytes)
    }
  }
}

/// Reads an input as a list of small numbers and pieces; at its end everything is zero.
struct Input {
  private var rest: ArraySlice<UInt8>

  init(_ bytes: [UInt8]) { rest = bytes[...] }

  var isEmpty: Bool { rest.isEmpty }

  mutating func byte() -> Int { Int(rest.popFirst() ?? 0) }

  mutating func pair() -> Int { byte() | byte() << 8 }

  mutating func piece(_ count: Int) -> [UInt8] {
    defer { rest = rest.dropFirst(count) }
    return Array(rest.prefix(count))
  }

  /// What an input makes of good bytes: after an even byte the rest is pieces to be laid over them,
  /// after an odd one the rest takes their place.
  static func changing(_ good: [UInt8], _ bytes: [UInt8]) -> [UInt8] {
    var input = Input(bytes)
    if input.byte() % 2 == 1 {
      let all = input.piece(good.count)
      return all + [UInt8](repeating: 0, count: good.count - all.count)
    }
    var changed = good
    while !input.isEmpty {
      let offset = input.pair() % good.count
      for (index, value) in input.piece(1 + input.byte() % 32).enumerated() {
        changed[(offset + index) % good.count] = value
      }
    }
    return changed
  }
}
