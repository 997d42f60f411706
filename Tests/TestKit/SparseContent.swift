/// The bytes of a simulated file: pages of 4096 bytes, shared between copies until one changes.
///
/// A page that is not there is a hole and takes no space; bytes past the size are always zero.
struct SparseContent: Sendable, Equatable {
  static let pageSize = 4096
  private static let zeroPage = [UInt8](repeating: 0, count: pageSize)

  private(set) var pages: [Int: [UInt8]] = [:]
  private(set) var size = 0

  init() {}

  init(_ bytes: [UInt8]) { write(bytes, 0..<bytes.count, at: 0) }

  private static func indices(_ range: Range<Int>) -> Range<Int> {
    guard !range.isEmpty else { return 0..<0 }
    return (range.lowerBound / pageSize)..<((range.upperBound - 1) / pageSize + 1)
  }

  /// The part of a page a range covers.
  private static func part(_ index: Int, _ range: Range<Int>) -> Range<Int> {
    let start = index * pageSize
    return max(0, range.lowerBound - start)..<min(pageSize, range.upperBound - start)
  }

  mutating func write(_ bytes: [UInt8], _ source: Range<Int>, at offset: Int) {
    let range = offset..<(offset + source.count)
    for index in Self.indices(range) {
      let part = Self.part(index, range)
      let from = source.lowerBound + index * Self.pageSize + part.lowerBound - offset
      let origin = from..<(from + part.count)
      if part.count == Self.pageSize {
        pages[index] = Array(bytes[origin])
      } else {
        overwrite(
          &pages[index, default: Self.zeroPage], at: part.lowerBound, with: bytes, origin)
      }
    }
    if !range.isEmpty { size = max(size, range.upperBound) }
  }

  /// What is reserved past the new end goes too, as on ext4 and XFS.
  mutating func resize(_ newSize: Int) {
    clear(newSize..<Self.endless)
    size = newSize
  }

  mutating func allocate(_ range: Range<Int>) {
    for index in Self.indices(range) where pages[index] == nil { pages[index] = Self.zeroPage }
    size = max(size, range.upperBound)
  }

  mutating func punch(_ range: Range<Int>) {
    // The bytes after the size are zero already: a page that ends there goes as a whole.
    let end = range.upperBound >= size ? Self.endless : range.upperBound
    if range.lowerBound < end { clear(range.lowerBound..<end) }
  }

  /// Changes the size alone. Pages past it stay, reserved; they must hold zeros.
  mutating func setSize(_ newSize: Int) { size = newSize }

  /// Drops what is past the size.
  mutating func dropPastEnd() { clear(size..<Self.endless) }

  static let sectorSize = 512

  /// The sectors that a range touches.
  static func sectors(of range: Range<Int>) -> Range<Int> {
    guard !range.isEmpty else { return 0..<0 }
    return (range.lowerBound / sectorSize)..<((range.upperBound - 1) / sectorSize + 1)
  }

  /// Takes one sector over from another content. The size stays, even if the sector is past it.
  mutating func copySector(_ sector: Int, from other: SparseContent) {
    let (index, start) = (sector * Self.sectorSize).quotientAndRemainder(
      dividingBy: Self.pageSize)
    guard other.pages[index] != nil || pages[index] != nil else { return }
    overwrite(
      &pages[index, default: Self.zeroPage], at: start,
      with: other.pages[index] ?? Self.zeroPage, start..<(start + Self.sectorSize))
  }

  /// The beginning of a range that newly takes at most `limit` pages.
  func fitting(_ range: Range<Int>, pages limit: Int) -> Range<Int> {
    var left = limit
    for index in Self.indices(range) where pages[index] == nil {
      left -= 1
      if left < 0 { return range.lowerBound..<max(range.lowerBound, index * Self.pageSize) }
    }
    return range
  }

  private static let endless = Int.max - pageSize

  private mutating func clear(_ range: Range<Int>) {
    let candidates = Self.indices(range)
    let present =
      candidates.count <= pages.count
      ? candidates.filter { pages[$0] != nil } : pages.keys.filter { candidates.contains($0) }
    for index in present {
      let part = Self.part(index, range)
      if part.count == Self.pageSize {
        pages[index] = nil
      } else {
        overwrite(
          &pages[index, default: Self.zeroPage], at: part.lowerBound, with: Self.zeroPage,
          0..<part.count)
      }
    }
  }

  /// Makes every page of zeros a hole.
  mutating func dropZeroPages() { pages = pages.filter { $0.value != Self.zeroPage } }

  /// Bytes of a range, cut at the end.
  func read(_ range: Range<Int>) -> [UInt8] {
    let range = range.clamped(to: 0..<size)
    var result = [UInt8](repeating: 0, count: range.count)
    for index in Self.indices(range) {
      guard let page = pages[index] else { continue }
      let part = Self.part(index, range)
      overwrite(
        &result, at: index * Self.pageSize + part.lowerBound - range.lowerBound, with: page, part)
    }
    return result
  }
}
