import Bytes
import Format

/// How often the search for a number went past what could not be read. What is damaged is passed at
/// once; on a disk that fails each try takes its time.
private struct Passes {
  private var failures = 0

  mutating func add(_ error: EngineError) throws(EngineError) {
    guard error.isUnreadable, failures < 8 else { throw error }
    if case .disk = error { failures += 1 }
  }
}

extension Transaction {
  /// A page number that is free, and its page, all zero. Numbers below a table that is lost are
  /// passed over.
  package func allocatePage() throws(EngineError) -> (number: UInt32, page: Draft) {
    var passes = Passes()
    let number = try allocateBit(in: .pageMap, from: nextPage, limit: UInt64(UInt32.max)) {
      (number) throws(EngineError) in
      do throws(EngineError) { try checkPlace(PageID(.pages, UInt32(number))) } catch {
        try passes.add(error)
        let perTable = UInt64(Layout.referencesPerTable)
        return (number / perTable + 1) * perTable
      }
      return nil
    }
    nextPage = number + 1
    try count(SystemPage.usedPages, 1)
    let page = UInt32(number)
    return (page, try fresh(PageID(.pages, page)))
  }

  /// Gives a page up. One below a table that is lost stays as it is, and taken in the map: no root
  /// could say that it is gone.
  package func freePage(_ number: UInt32) throws(EngineError) {
    do throws(EngineError) { try checkPlace(PageID(.pages, number)) } catch {
      // What could only not be read now is tried again.
      guard case .damaged = error else { throw error }
      return
    }
    try clearBit(in: .pageMap, UInt64(number))
    nextPage = min(nextPage, UInt64(number))
    try count(SystemPage.usedPages, -1)
    drop(PageID(.pages, number))
  }

  /// An inode number that is free. Its record still holds the generation of its last use; where
  /// that is lost, the number is passed over.
  package func allocateInode() throws(EngineError) -> UInt64 {
    var passes = Passes()
    let number = try allocateBit(in: .inodeMap, from: nextInode, limit: UInt64(UInt32.max) << 4) {
      (number) throws(EngineError) in
      let page = number / Layout.inodesPerPage
      do throws(EngineError) { _ = try read(PageID(.inodes, UInt32(page))) } catch {
        try passes.add(error)
        return (page + 1) * Layout.inodesPerPage
      }
      return nil
    }
    nextInode = number + 1
    try count(SystemPage.usedInodes, 1)
    return number
  }

  package func freeInode(_ number: UInt64) throws(EngineError) {
    try clearBit(in: .inodeMap, number)
    nextInode = min(nextInode, number)
    try count(SystemPage.usedInodes, -1)
  }

  private func count(_ offset: Int, _ change: Int64) throws(EngineError) {
    let system = try edit(PageID(.system, 0))
    let value = try SystemPage.count(offset, in: system.bytes)
    guard change >= 0 || value > 0 else { throw .damaged("a count in the system page") }
    system.store(UInt64(Int64(bitPattern: value) + change), at: offset)
  }

  private func clearBit(in file: MetadataFile, _ number: UInt64) throws(EngineError) {
    let draft = try edit(PageID(file, UInt32(number / Layout.bitsPerPage)))
    let bit = Int(number % Layout.bitsPerPage)
    let byte = draft.bytes.load(UInt8.self, at: bit / 8)
    guard byte >> UInt8(bit % 8) & 1 == 1 else { throw .damaged("a map of numbers in use") }
    draft.store(byte & ~(1 << UInt8(bit % 8)), at: bit / 8)
  }

  /// Finds a clear bit at or after a hint, going round once, and sets it. Number 0 is never given.
  /// `passing` says of a number that cannot be used where to go on.
  private func allocateBit(
    in file: MetadataFile, from hint: UInt64, limit: UInt64,
    passing: (UInt64) throws(EngineError) -> UInt64?
  ) throws(EngineError) -> UInt64 {
    let start = hint < limit ? max(hint, 1) : 1
    let number: UInt64
    if let found = try firstClear(in: file, start..<limit, passing) {
      number = found
    } else if let found = try firstClear(in: file, 1..<start, passing) {
      number = found
    } else {
      throw .noSpace("all numbers are in use")
    }
    let draft = try edit(PageID(file, UInt32(number / Layout.bitsPerPage)))
    let bit = Int(number % Layout.bitsPerPage)
    draft.store(draft.bytes.load(UInt8.self, at: bit / 8) | 1 << UInt8(bit % 8), at: bit / 8)
    return number
  }

  private func firstClear(
    in file: MetadataFile, _ numbers: Range<UInt64>,
    _ passing: (UInt64) throws(EngineError) -> UInt64?
  ) throws(EngineError) -> UInt64? {
    var start = numbers.lowerBound
    while start < numbers.upperBound,
      let found = try firstClear(in: file, start..<numbers.upperBound)
    {
      guard let next = try passing(found) else { return found }
      start = next
    }
    return nil
  }

  private func firstClear(
    in file: MetadataFile, _ numbers: Range<UInt64>
  ) throws(EngineError) -> UInt64? {
    var number = numbers.lowerBound
    while number < numbers.upperBound {
      let page = try read(PageID(file, UInt32(number / Layout.bitsPerPage)))
      let end = min(numbers.upperBound, (number / Layout.bitsPerPage + 1) * Layout.bitsPerPage)
      while number < end {
        let bit = number % Layout.bitsPerPage
        let word = page.load(UInt64.self, at: Int(bit / 64) * 8) >> (bit % 64)
        let free = UInt64((~word).trailingZeroBitCount)
        if free < 64 - bit % 64 {
          let found = number + free
          return found < end ? found : nil
        }
        number += 64 - bit % 64
      }
    }
    return nil
  }
}
