package import Crypto
package import Format
import POSIX
package import Vault
import Volume

/// What `coffre journal` shows: the audit log, or what of it was written since a time.
package struct AuditReport: Hashable, Sendable {
  package var entries: [AuditEntry] = []
  /// Not in the log yet.
  package var notes: [AuditEntry] = []
  /// Entries there have ever been, and how many of them were dropped for new ones.
  package var count: UInt64 = 0
  package var dropped: UInt64 = 0
  /// What the newest entry and all before it come to, as hexadecimal digits.
  package var chain = ""
  /// What is wrong with the log, as sentences.
  package var problems: [String] = []
  /// Whether this machine has seen a later state of the vault, or another one.
  package var isOlder = false

  /// More are only counted.
  private static let mostProblems = 20

  package init() {}
}

extension AuditReport {
  /// `since` is in nanoseconds since 1970; what is wrong is told of all of the log.
  init(_ view: AuditView, since: UInt64) {
    entries = view.record.entries.filter { $0.time >= since }
    notes = view.notes.filter { $0.time >= since }
    count = view.record.count
    dropped = view.record.dropped
    chain = Self.digits(view.record.chain)
    let found = view.record.problems
    problems = found.prefix(Self.mostProblems).map(\.sentence)
    if found.count > problems.count { problems.append("\(found.count - problems.count) more") }
    isOlder = view.isOlder
  }

  /// Of a vault that is not mounted for writing.
  package static func read(
    _ vault: Vault, password: borrowing SecretBytes, since: UInt64
  ) throws(Failure) -> AuditReport {
    do throws(VaultError) {
      return AuditReport(try vault.audit(password: password), since: since)
    } catch { throw Failure(error, vault: vault.path) }
  }

  static func digits(_ bytes: [UInt8]) -> String {
    bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }

  static func bytes(_ digits: String) -> [UInt8]? {
    let values = digits.unicodeScalars.compactMap { Character($0).hexDigitValue }
    guard values.count == digits.unicodeScalars.count, values.count % 2 == 0 else { return nil }
    return stride(from: 0, to: values.count, by: 2).map {
      UInt8(values[$0] << 4 | values[$0 + 1])
    }
  }
}

extension AuditReport {
  /// Answers at the control socket. Everything is read before the first line is sent, so that a
  /// lock waits for nobody who does not read.
  static func answer(of mount: ActiveMount, _ request: Message, _ connection: Connection) {
    let since = request["since"].flatMap { UInt64($0) } ?? 0
    let report: AuditReport
    do throws(VaultError) {
      report = AuditReport(try mount.vault.auditView(), since: since)
    } catch {
      try? connection.send(Message(Failure(error, vault: mount.settings.vault)))
      return
    }
    do throws(Errno) {
      for message in report.messages { try connection.send(message) }
    } catch {
      // Nobody listens any more.
    }
  }

  /// As they cross the socket; the last one ends the answer.
  var messages: [Message] {
    var last = Message(
      "journal",
      ["count": String(count), "dropped": String(dropped), "older": isOlder ? "yes" : "no"])
    last["chain"] = chain
    return entries.map { Message($0, as: "entry") } + notes.map { Message($0, as: "note") }
      + problems.map { Message("problem", ["text": $0]) } + [last]
  }

  /// Takes a message of an answer; true after the last one.
  mutating func take(_ message: Message) -> Bool {
    switch message.verb {
    case "entry": if let entry = message.auditEntry { entries.append(entry) }
    case "note": if let entry = message.auditEntry { notes.append(entry) }
    case "problem": problems.append(message["text"] ?? "")
    case "journal":
      count = message["count"].flatMap { UInt64($0) } ?? 0
      dropped = message["dropped"].flatMap { UInt64($0) } ?? 0
      chain = message["chain"] ?? ""
      isOlder = message["older"] == "yes"
      return true
    default: break
    }
    return false
  }
}

extension ControlClient {
  /// The audit log of a mounted vault, from the process that has it open.
  package static func journal(_ found: Found, since: UInt64) throws(Failure) -> AuditReport {
    guard let connection = try? connect(found.socket) else {
      throw Failure(.notMounted, "the vault was locked in the meantime")
    }
    do throws(Errno) { try connection.send(Message("journal", ["since": String(since)])) } catch {
      throw Failure(error, doing: "control socket")
    }
    var report = AuditReport()
    while let message = connection.receive(patience: nil) {
      if let failure = message.failure { throw failure }
      if report.take(message) { return report }
    }
    throw Failure(.notMounted, "the mount's process ended before all was told")
  }
}

extension Message {
  init(_ entry: AuditEntry, as verb: String) {
    self.init(
      verb,
      [
        "number": String(entry.number), "time": String(entry.time),
        "kind": String(entry.event.kind),
        "numbers": entry.event.numbers.map { String($0) }.joined(separator: ","),
        "user": String(entry.user), "program": AuditReport.digits(entry.program),
        "noted": entry.isNoted ? "yes" : "no",
      ])
  }

  /// The entry a line tells of; nil if it tells of none.
  var auditEntry: AuditEntry? {
    let words = (self["numbers"] ?? "").parts(between: ",")
    let numbers = words.compactMap { UInt64($0) }
    guard numbers.count == AuditEntry.numberCount, words.count == numbers.count,
      let number = self["number"].flatMap({ UInt64($0) }),
      let time = self["time"].flatMap({ UInt64($0) }),
      let kind = self["kind"].flatMap({ UInt16($0) }), kind > 0,
      let user = self["user"].flatMap({ UInt32($0) }),
      let program = self["program"].flatMap({ AuditReport.bytes($0) })
    else { return nil }
    var entry = AuditEntry(
      AuditEvent(kind: kind, numbers: numbers), time: time, user: user, program: program)
    entry.number = number
    entry.isNoted = self["noted"] == "yes"
    return entry
  }
}
