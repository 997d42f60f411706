import Format
import Session

/// Entries of the audit log in words. The words and the names of members are part of the interface.
extension AuditEvent {
  var word: String {
    switch self {
    case .unlocked: "unlock"
    case .locked: "lock"
    case .exported: "export"
    case .erased: "erase"
    case .expired: "expire"
    case .passwordChanged: "password-change"
    case .slotAdded: "slot-add"
    case .slotRemoved: "slot-remove"
    case .verified: "verify"
    case .olderAccepted: "accept-older"
    case .journalLossAccepted: "accept-journal-loss"
    case .policyChanged: "policy-change"
    case .consentGiven: "consent"
    case .consentWithdrawn: "consent-withdraw"
    case .trimmed: "dropped"
    case .lost: "lost"
    case .missed: "missed"
    case .unknown: "unknown"
    }
  }

  var details: [(String, JSON)] {
    switch self {
    case .unlocked(let slot, let isReadOnly, let failed, let first):
      [
        ("slot", .unsigned(slot)), ("readOnly", .bool(isReadOnly)),
        ("failedAttempts", .unsigned(failed)),
        ("firstFailedAttempt", first == 0 ? .null : .string(Self.time(seconds: first))),
      ]
    case .locked(let cause, let isLost):
      [("cause", .string(LockCause(cause).rawValue)), ("lost", .bool(isLost))]
    case .exported(let way, let files, let bytes):
      [
        ("way", .string(way.word)), ("files", Self.known(files)), ("bytes", Self.known(bytes)),
      ]
    case .erased(let files, let bytes): [("files", .unsigned(files)), ("bytes", .unsigned(bytes))]
    case .expired(let files): [("files", .unsigned(files))]
    case .passwordChanged(let slot, let generation), .slotAdded(let slot, let generation),
      .slotRemoved(let slot, let generation):
      [("slot", .unsigned(slot)), ("configurationGeneration", .unsigned(generation))]
    case .verified(let outcome, let scope, let damages, let left):
      [
        ("outcome", .string(outcome.word)), ("damages", .unsigned(damages)),
        ("left", .unsigned(left)), ("quick", .bool(scope.contains(.quick))),
        ("part", .bool(scope.contains(.part))), ("repair", .bool(scope.contains(.repair))),
      ]
    case .olderAccepted(let generation), .journalLossAccepted(let generation):
      [("generation", .unsigned(generation))]
    case .policyChanged(let policy, let old, let new):
      [("policy", .string(policy.word)), ("from", .unsigned(old)), ("to", .unsigned(new))]
    case .consentGiven(let version), .consentWithdrawn(let version):
      [("version", .unsigned(version))]
    case .trimmed(let entries, let time):
      [("entries", .unsigned(entries)), ("until", .string(CalendarTime.text(time)))]
    case .lost(let first, let end): [("from", .unsigned(first)), ("to", .unsigned(end))]
    case .missed(let entries): [("entries", .unsigned(entries))]
    case .unknown(let kind, let numbers):
      [("kind", .number(Int64(kind))), ("numbers", .array(numbers.map { .unsigned($0) }))]
    }
  }

  private static func known(_ number: UInt64) -> JSON { number == 0 ? .null : .unsigned(number) }

  private static func time(seconds: UInt64) -> String {
    CalendarTime.text(min(seconds, 4_000_000_000) * 1_000_000_000)
  }
}

extension AuditExport {
  var word: String {
    switch self {
    case .get: "get"
    case .document: "document"
    case .exec: "exec"
    }
  }
}

extension AuditOutcome {
  var word: String {
    switch self {
    case .clean: "clean"
    case .damaged: "damaged"
    case .repaired: "repaired"
    }
  }
}

extension AuditPolicy {
  var word: String {
    switch self {
    case .backup: "backup"
    case .expiry: "expiry"
    case .hold: "hold"
    }
  }
}

extension AuditEvent {
  /// For people.
  var sentence: String {
    switch self {
    case .unlocked(let slot, let isReadOnly, let failed, let first):
      return "unlocked\(isReadOnly ? " to be read" : ""), key slot \(slot)"
        + Self.attempts(failed, since: first)
    case .locked(let cause, let isLost):
      return "locked: \(LockCause(cause).sentence)"
        + (cause == .killed ? " (noticed now)" : "")
        + (isLost ? "; not everything could be written" : "")
    case .exported(let way, let files, let bytes):
      let what = files == 0 ? "contents" : Self.count(files, "file")
      return "exported \(what) by \(way.word)" + (bytes == 0 ? "" : ", \(bytes) bytes")
    case .erased(let files, let bytes): return "erased \(Self.count(files, "file")), \(bytes) bytes"
    case .expired(let files): return "\(Self.count(files, "file")) expired"
    case .passwordChanged(let slot, _): return "the password of key slot \(slot) was changed"
    case .slotAdded(let slot, _): return "key slot \(slot) was added"
    case .slotRemoved(let slot, _): return "key slot \(slot) was removed"
    case .verified(let outcome, let scope, let damages, let left):
      return Self.check(outcome, scope, damages, left)
    case .olderAccepted: return "an older state of the vault was accepted"
    case .journalLossAccepted: return "what a damaged journal could not tell was given up"
    case .policyChanged(let policy, let old, let new):
      return "the policy \(policy.word) was changed from \(old) to \(new)"
    case .consentGiven(let version): return "consent was given to text \(version)"
    case .consentWithdrawn(let version): return "consent to text \(version) was withdrawn"
    case .trimmed(let entries, let time):
      return "dropped \(entries) entries until \(CalendarTime.short(time))"
    case .lost(let first, let end):
      return "entries \(first) to \(end - min(end, 1)) were damaged and given up"
    case .missed(let entries): return "\(entries) entries could be written nowhere"
    case .unknown(let kind, _): return "something this coffre does not know, of kind \(kind)"
    }
  }

  private static func attempts(_ failed: UInt64, since first: UInt64) -> String {
    guard failed > 0 else { return "" }
    let seconds = min(first, 4_000_000_000)
    let time = seconds == 0 ? "" : ", the first \(CalendarTime.short(seconds * 1_000_000_000))"
    return "; \(count(failed, "failed attempt")) before it\(time)"
  }

  private static func check(
    _ outcome: AuditOutcome, _ scope: AuditScope, _ damages: UInt64, _ left: UInt64
  ) -> String {
    let what = scope.contains(.part) ? "a part" : "all"
    let depth = scope.contains(.quick) ? ", metadata only" : ""
    let found =
      damages == 0 ? "no damage" : "\(count(damages, "piece")) damaged, \(left) of them left"
    return "checked \(what)\(depth)\(scope.contains(.repair) ? ", with repair" : ""): \(found)"
  }

  private static func count(_ number: UInt64, _ noun: String) -> String {
    "\(number) \(noun)\(number == 1 ? "" : "s")"
  }
}
