/// A set of numbers, a bit each; takes memory only around numbers that are in it.
struct SparseBits: Sendable {
  static let blockBits: UInt64 = 32768
  static let blockWords = 512
  private var blocks: [UInt64: [UInt64]] = [:]
  private(set) var count: UInt64 = 0

  func contains(_ number: UInt64) -> Bool {
    guard let block = blocks[number / Self.blockBits] else { return false }
    let bit = number % Self.blockBits
    return block[Int(bit / 64)] >> (bit % 64) & 1 == 1
  }

  /// False if it was there.
  @discardableResult
  mutating func insert(_ number: UInt64) -> Bool {
    let bit = number % Self.blockBits
    let mask: UInt64 = 1 << (bit % 64)
    let isNew = set(number / Self.blockBits, Int(bit / 64), mask)
    if isNew { count += 1 }
    return isNew
  }

  private mutating func set(_ block: UInt64, _ word: Int, _ mask: UInt64) -> Bool {
    func change(_ words: inout [UInt64]) -> Bool {
      let old = words[word]
      words[word] = old | mask
      return old & mask == 0
    }
    return change(&blocks[block, default: [UInt64](repeating: 0, count: Self.blockWords)])
  }

  /// The 512 words of one block; nil if nothing is in it.
  func block(_ index: UInt64) -> [UInt64]? { blocks[index] }

  /// Blocks that hold something, in order.
  var blockIndexes: [UInt64] { blocks.keys.sorted() }

  /// Calls `body` for every number in the set, in order.
  func forEach<E: Error>(_ body: (UInt64) throws(E) -> Void) throws(E) {
    for index in blockIndexes {
      guard let words = blocks[index] else { continue }
      for (place, word) in words.enumerated() where word != 0 {
        var rest = word
        while rest != 0 {
          let bit = UInt64(rest.trailingZeroBitCount)
          rest &= rest - 1
          try body(index * Self.blockBits + UInt64(place) * 64 + bit)
        }
      }
    }
  }
}

/// A small number for each of many numbers, zero where none was set.
struct SparseCounts<Value: FixedWidthInteger & Sendable>: Sendable {
  private static var blockSize: UInt64 { 4096 }
  private var blocks: [UInt64: [Value]] = [:]

  subscript(number: UInt64) -> Value {
    get { blocks[number / Self.blockSize]?[Int(number % Self.blockSize)] ?? 0 }
    set {
      let empty = [Value](repeating: 0, count: Int(Self.blockSize))
      blocks[number / Self.blockSize, default: empty][Int(number % Self.blockSize)] = newValue
    }
  }

  /// One more; a count that is full stays.
  mutating func increment(_ number: UInt64) {
    let value = self[number]
    if value < Value.max { self[number] = value + 1 }
  }

  /// Calls `body` for every number whose value is not zero, in order.
  func forEach<E: Error>(_ body: (UInt64, Value) throws(E) -> Void) throws(E) {
    for index in blocks.keys.sorted() {
      guard let values = blocks[index] else { continue }
      for (place, value) in values.enumerated() where value != 0 {
        try body(index * Self.blockSize + UInt64(place), value)
      }
    }
  }
}
