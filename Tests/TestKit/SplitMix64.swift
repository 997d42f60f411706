/// Random numbers that a seed repeats, so that a failing test can be run again. Never for secrets.
package struct SplitMix64: RandomNumberGenerator, Sendable {
  private var state: UInt64

  package init(seed: UInt64) { state = seed }

  package mutating func next() -> UInt64 {
    state &+= 0x9e37_79b9_7f4a_7c15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
    return mixed ^ (mixed >> 31)
  }

  /// True in `percent` of a hundred cases.
  package mutating func chance(_ percent: Int) -> Bool { Int(next() % 100) < percent }

  /// A number from 0 to `limit` - 1.
  package mutating func below(_ limit: Int) -> Int {
    precondition(limit > 0)
    return Int(next() % UInt64(limit))
  }

  /// One of some values; there must be one.
  package mutating func pick<T>(_ values: [T]) -> T { values[below(values.count)] }

  package mutating func bytes(_ count: Int) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(count)
    while bytes.count < count {
      var word = next()
      for _ in 0..<min(8, count - bytes.count) {
        bytes.append(UInt8(truncatingIfNeeded: word))
        word >>= 8
      }
    }
    return bytes
  }
}
