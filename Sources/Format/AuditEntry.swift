package import Bytes

/// One entry of the audit log: what was done with the vault, when, by whom. Never what is in it,
/// and no name or path from inside of it.
///
/// | bytes   | what                                                                          |
/// | 0..<8   | number: one more for each entry; 0 in a note, which is not in the log yet     |
/// | 8..<16  | time: nanoseconds since 1970, UTC                                             |
/// | 16..<18 | kind, see `AuditEvent`                                                        |
/// | 18..<20 | flags: 1 is a note that was taken over later                                  |
/// | 20..<24 | user id                                                                       |
/// | 24..<40 | program: at most 15 bytes, then zeros                                         |
/// | 40..<80 | five numbers; what they mean depends on the kind                              |
/// | 80..<96 | zeros                                                                         |
///
/// In the log 32 bytes follow: SHA-256 of the 32 bytes after the entry before, and these 96.
package struct AuditEntry: Hashable, Sendable {
  package static let size = 96
  package static let numberCount = 5
  package static let longestProgram = 15

  package var number: UInt64 = 0
  package var time: UInt64
  package var event: AuditEvent
  /// It was kept outside of the vault for a while, where nothing proves it.
  package var isNoted = false
  package var user: UInt32
  /// Without zeros; cut where it is too long.
  package let program: [UInt8]

  package init(_ event: AuditEvent, time: UInt64, user: UInt32, program: [UInt8]) {
    self.event = event
    self.time = min(time, Self.largestTime)
    self.user = user
    self.program = Array(program.prefix { $0 != 0 }.prefix(Self.longestProgram))
  }

  /// Numbers and times are below it, so that one more is one, too.
  private static let limit: UInt64 = 1 << 62
  private static let largestTime = limit - 1

  package func store(to buffer: Buffer, at base: Int) {
    buffer.zero(base..<(base + Self.size))
    buffer.store(number, at: base)
    buffer.store(time, at: base + 8)
    buffer.store(event.kind, at: base + 16)
    buffer.store(UInt16(isNoted ? 1 : 0), at: base + 18)
    buffer.store(user, at: base + 20)
    buffer.store(program, at: base + 24)
    for (index, number) in event.numbers.enumerated() {
      buffer.store(number, at: base + 40 + 8 * index)
    }
  }

  /// Total: any bytes are an entry or none, and only what `store` writes is one.
  package init?(from buffer: Buffer, at base: Int) {
    func u64(_ offset: Int) -> UInt64 { buffer.load(UInt64.self, at: base + offset) }
    let kind = buffer.load(UInt16.self, at: base + 16)
    let flags = buffer.load(UInt16.self, at: base + 18)
    let program = buffer.load((base + 24)..<(base + 40))
    let name = Array(program.prefix { $0 != 0 })
    guard u64(0) < Self.limit, u64(8) < Self.limit, kind > 0, flags <= 1,
      name.count <= Self.longestProgram, program.dropFirst(name.count).allSatisfy({ $0 == 0 }),
      buffer.isZero((base + 80)..<(base + Self.size))
    else { return nil }
    let numbers = (0..<Self.numberCount).map { u64(40 + 8 * $0) }
    self.init(
      AuditEvent(kind: kind, numbers: numbers), time: u64(8),
      user: buffer.load(UInt32.self, at: base + 20), program: name)
    number = u64(0)
    isNoted = flags == 1
  }
}

/// Where the log is, in page 0 of the system file. All zeros before the first entry.
///
/// | bytes    | what                                                                         |
/// | 0..<8    | entries there have ever been                                                 |
/// | 8..<16   | entries that were dropped for new ones                                       |
/// | 16..<24  | number of the unlock that no lock has followed yet; 0 for none               |
/// | 24..<56  | the 32 bytes after the last entry that was dropped; zeros before             |
/// | 56..<88  | the 32 bytes after the newest entry                                          |
package struct AuditHead: Hashable, Sendable {
  package static let size = 88
  package static let chainSize = 32
  /// Entries of a page, each with its 32 bytes.
  package static let perPage: UInt64 = 32
  /// Pages of the system file that are the log's, from page 1 on: 2 MiB.
  package static let pages: UInt64 = 512
  /// Entries the log holds; then the oldest page of them goes for each new one.
  package static let capacity = perPage * pages

  package var count: UInt64 = 0
  package var dropped: UInt64 = 0
  package var openUnlock: UInt64 = 0
  package var chainBefore = [UInt8](repeating: 0, count: chainSize)
  package var chain = [UInt8](repeating: 0, count: chainSize)

  package init() {}

  /// The numbers of the entries there are.
  package var numbers: Range<UInt64> { (dropped + 1)..<(count + 1) }

  /// The first of each page that there are.
  package var starts: StrideTo<UInt64> {
    stride(from: numbers.lowerBound, to: numbers.upperBound, by: Int(Self.perPage))
  }

  /// The page of the system file an entry is in, and where in it.
  package static func place(of number: UInt64) -> (page: UInt32, offset: Int) {
    let index = number - 1
    return (
      UInt32(1 + index / perPage % pages),
      Int(index % perPage) * (AuditEntry.size + chainSize)
    )
  }

  package func store(to buffer: Buffer, at base: Int) {
    buffer.store(count, at: base)
    buffer.store(dropped, at: base + 8)
    buffer.store(openUnlock, at: base + 16)
    buffer.store(chainBefore, at: base + 24)
    buffer.store(chain, at: base + 56)
  }

  /// Nil for what `store` never writes.
  package init?(from buffer: Buffer, at base: Int) {
    count = buffer.load(UInt64.self, at: base)
    dropped = buffer.load(UInt64.self, at: base + 8)
    openUnlock = buffer.load(UInt64.self, at: base + 16)
    chainBefore = buffer.load((base + 24)..<(base + 56))
    chain = buffer.load((base + 56)..<(base + 88))
    guard count < 1 << 62, dropped <= count, dropped % Self.perPage == 0,
      count - dropped <= Self.capacity, openUnlock <= count
    else { return nil }
  }
}
