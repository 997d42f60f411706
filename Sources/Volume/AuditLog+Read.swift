import Bytes
import Engine
package import Format
import POSIX

/// What the audit log holds, and what is wrong with it.
package struct AuditRecord: Hashable, Sendable {
  package var entries: [AuditEntry] = []
  /// Entries there have ever been, and those of them that were dropped for new ones.
  package var count: UInt64 = 0
  package var dropped: UInt64 = 0
  /// The 32 bytes after the newest entry: who keeps them elsewhere can tell later that all of the
  /// log up to here is as it was.
  package var chain = [UInt8](repeating: 0, count: AuditHead.chainSize)
  package var problems: [AuditProblem] = []

  package init() {}
}

package enum AuditProblem: Hashable, Sendable {
  /// Their page is damaged, in both copies.
  case unreadable(Range<UInt64>)
  /// In their place there is nothing.
  case missing(Range<UInt64>)
  /// It is no entry, not the one of that number, or does not follow from the one before.
  case altered(UInt64)
  /// The newest ones are not those that were written.
  case cut
}

extension AuditProblem {
  package var sentence: String {
    switch self {
    case .unreadable(let numbers): "\(Self.text(numbers)) can't be read"
    case .missing(let numbers): "\(Self.text(numbers)) \(numbers.count == 1 ? "is" : "are") missing"
    case .altered(let number):
      "entry \(number) is not what was written, or another one was in front of it"
    case .cut: "the newest entries are not what was written"
    }
  }

  private static func text(_ numbers: Range<UInt64>) -> String {
    numbers.count == 1
      ? "entry \(numbers.lowerBound)"
      : "entries \(numbers.lowerBound) to \(numbers.upperBound - 1)"
  }
}

extension Volume {
  /// Appends entries, and makes them durable: the frame is synced when this returns. Not if the
  /// volume is to be closed right after, which makes everything durable.
  package func append(_ entries: [AuditEntry], isClosing: Bool) throws(VolumeError) {
    try answer { () throws(EngineError) in
      var rest = entries[...]
      while !rest.isEmpty {
        let some = Array(rest.prefix(AuditLog.batch))
        rest = rest.dropFirst(some.count)
        let pages = 8 + some.count / Int(AuditHead.perPage)
        let sequence = try engine.transact(pages: pages) { (transaction) throws(EngineError) in
          try AuditLog.append(some, in: transaction)
        }.sequence
        if !isClosing { try engine.sync(through: sequence) }
      }
    }
  }

  /// Everything the log holds, checked.
  package func auditRecord() throws(VolumeError) -> AuditRecord {
    try answer { () throws(EngineError) in try AuditReader(engine).record() }
  }
}

/// Reads a page at a time, so that no frame waits for the whole log.
struct AuditReader {
  private let engine: Engine

  init(_ engine: Engine) { self.engine = engine }

  private func head() throws(EngineError) -> AuditHead {
    try engine.read { (pages) throws(EngineError) in try AuditLog.head(in: pages) }
  }

  func record() throws(EngineError) -> AuditRecord {
    let before = try head()
    var pages: [PageID: Buffer] = [:]
    for start in before.starts {
      let id = AuditLog.page(of: start)
      do throws(EngineError) {
        pages[id] = try engine.read { (pages) throws(EngineError) in try pages.read(id) }
      } catch {
        guard error.isUnreadable else { throw error }
      }
    }
    return Self.record(before, later: try head(), pages)
  }

  /// Of pages that were read between two looks at the head; one that is not there is unreadable.
  static func record(
    _ head: AuditHead, later: AuditHead, _ pages: [PageID: Buffer]
  ) -> AuditRecord {
    // What was dropped meanwhile was overwritten while it was read.
    guard later.dropped <= head.count else { return AuditRecord() }
    var check = AuditCheck(head, from: later)
    for number in check.numbers { check.take(number, pages[AuditLog.page(of: number)]) }
    return check.finish()
  }
}

/// Goes over entries in their order.
struct AuditCheck {
  /// Those there are.
  let numbers: Range<UInt64>
  private let newest: [UInt8]
  private var record = AuditRecord()
  /// The 32 bytes after the entry before; nil where that can't be read.
  private var chain: [UInt8]?
  private var unreadable: [Range<UInt64>] = []
  private var missing: [Range<UInt64>] = []

  /// Entries that `head` knows, and `later` still does.
  init(_ head: AuditHead, from later: AuditHead) {
    numbers = (max(later.dropped, head.dropped) + 1)..<(head.count + 1)
    newest = head.chain
    record.count = head.count
    record.dropped = later.dropped
    record.chain = head.chain
    let start = Buffer(later.chainBefore)
    chain = later.dropped > 0 && start.isZero(0..<start.count) ? nil : later.chainBefore
  }

  mutating func take(_ number: UInt64, _ page: Buffer?) {
    let offset = AuditHead.place(of: number).offset
    let end = offset + AuditEntry.size
    guard let page else {
      Self.add(number, to: &unreadable)
      chain = nil
      return
    }
    guard !page.isZero(offset..<(end + AuditHead.chainSize)) else {
      Self.add(number, to: &missing)
      chain = nil
      return
    }
    let own = page.load(end..<(end + AuditHead.chainSize))
    let follows = chain.map { AuditLog.chain($0, page, offset) == own } ?? true
    chain = own
    let entry = AuditEntry(from: page, at: offset)
    if !follows || entry?.number != number { record.problems.append(.altered(number)) }
    if let entry { record.entries.append(entry) }
  }

  mutating func finish() -> AuditRecord {
    // What was lost with its page, and is told of by an entry, is no news.
    let told = record.entries.compactMap { entry -> Range<UInt64>? in
      guard case .lost(let first, let end) = entry.event, first < end else { return nil }
      return first..<end
    }
    let isNew: (Range<UInt64>) -> Bool = { numbers in
      !told.contains { $0.lowerBound <= numbers.lowerBound && numbers.upperBound <= $0.upperBound }
    }
    record.problems += unreadable.map { .unreadable($0) }
    record.problems += missing.filter(isNew).map { .missing($0) }
    if let chain, chain != newest { record.problems.append(.cut) }
    return record
  }

  private static func add(_ number: UInt64, to ranges: inout [Range<UInt64>]) {
    if let last = ranges.last, last.upperBound == number {
      ranges[ranges.count - 1] = last.lowerBound..<(number + 1)
    } else {
      ranges.append(number..<(number + 1))
    }
  }
}
