/// What an entry of the audit log tells. The numbers are part of the format: never changed, never
/// used twice.
///
/// No case carries text: what is in a vault can not get into the log.
package enum AuditEvent: Hashable, Sendable {
  /// 1. A mount: with which key slot, and how many wrong passwords were tried on this machine
  /// before it, the first one when (seconds since 1970, 0 if that is not known).
  case unlocked(slot: UInt64, isReadOnly: Bool, failed: UInt64, firstFailed: UInt64)
  /// 2. Its end. `isLost`: not everything could be written.
  case locked(AuditCause, isLost: Bool)
  /// 3. Contents left the vault other than through the mount; 0 where a number is not known.
  case exported(AuditExport, files: UInt64, bytes: UInt64)
  /// 4. Files were made unrecoverable.
  case erased(files: UInt64, bytes: UInt64)
  /// 5. Files whose time was over.
  case expired(files: UInt64)
  /// 6 to 8, with the generation of the configuration.
  case passwordChanged(slot: UInt64, generation: UInt64)
  case slotAdded(slot: UInt64, generation: UInt64)
  case slotRemoved(slot: UInt64, generation: UInt64)
  /// 9. A check, with the pieces that were damaged, and those that still are.
  case verified(AuditOutcome, AuditScope, damages: UInt64, left: UInt64)
  /// 10. A mount with --accept-older; the generation of its first root.
  case olderAccepted(generation: UInt64)
  /// 11. A mount with --accept-journal-loss, the same.
  case journalLossAccepted(generation: UInt64)
  /// 12. What the two numbers mean is the policy's own.
  case policyChanged(AuditPolicy, from: UInt64, to: UInt64)
  /// 13 and 14. The version of the text.
  case consentGiven(version: UInt64)
  case consentWithdrawn(version: UInt64)
  /// 15. The log was full: so many entries are gone in all, the last of them of that time.
  case trimmed(entries: UInt64, until: UInt64)
  /// 16. Entries from a number on, up to another, were lost with their page.
  case lost(from: UInt64, to: UInt64)
  /// 17. So many entries could be written nowhere.
  case missed(entries: UInt64)
  /// Of a newer Coffre.
  case unknown(kind: UInt16, numbers: [UInt64])
}

/// Why a vault was locked.
package enum AuditCause: UInt64, CaseIterable, Sendable {
  case requested = 1, signal, idle, atMost, screen, suspend, sessionEnd, shutdown, notReady,
    unmounted
  /// Noticed by the next unlock, whose time the entry has.
  case killed
}

package enum AuditExport: UInt64, CaseIterable, Sendable {
  case get = 1, document, exec
}

package enum AuditOutcome: UInt64, CaseIterable, Sendable {
  case clean = 1, damaged, repaired
}

/// What was checked, as bits.
package struct AuditScope: OptionSet, Hashable, Sendable {
  package let rawValue: UInt64
  package init(rawValue: UInt64) { self.rawValue = rawValue }

  /// Metadata only.
  package static let quick = AuditScope(rawValue: 1)
  /// A part of the tree.
  package static let part = AuditScope(rawValue: 2)
  /// With --repair.
  package static let repair = AuditScope(rawValue: 4)
  package static let all: AuditScope = [.quick, .part, .repair]
}

package enum AuditPolicy: UInt64, CaseIterable, Sendable {
  /// Of backups: 1 exclude, 2 include the ciphertext.
  case backup = 1
  /// A folder's default: seconds, 0 for never.
  case expiry
  /// A hold for a backup: seconds it may last, 0 for none.
  case hold
}

extension AuditEvent {
  /// Five, those without a meaning 0.
  package var numbers: [UInt64] {
    let used = parts.numbers
    return used + [UInt64](repeating: 0, count: AuditEntry.numberCount - used.count)
  }

  package var kind: UInt16 { parts.kind }

  private var parts: (kind: UInt16, numbers: [UInt64]) {
    switch self {
    case .unlocked(let slot, let isReadOnly, let failed, let first):
      (1, [slot, isReadOnly ? 1 : 0, failed, first])
    case .locked(let cause, let isLost): (2, [cause.rawValue, isLost ? 1 : 0])
    case .exported(let way, let files, let bytes): (3, [way.rawValue, files, bytes])
    case .erased(let files, let bytes): (4, [files, bytes])
    case .expired(let files): (5, [files])
    case .passwordChanged(let slot, let generation): (6, [slot, generation])
    case .slotAdded(let slot, let generation): (7, [slot, generation])
    case .slotRemoved(let slot, let generation): (8, [slot, generation])
    case .verified(let outcome, let scope, let damages, let left):
      (9, [outcome.rawValue, scope.rawValue, damages, left])
    case .olderAccepted(let generation): (10, [generation])
    case .journalLossAccepted(let generation): (11, [generation])
    case .policyChanged(let policy, let old, let new): (12, [policy.rawValue, old, new])
    case .consentGiven(let version): (13, [version])
    case .consentWithdrawn(let version): (14, [version])
    case .trimmed(let entries, let time): (15, [entries, time])
    case .lost(let first, let end): (16, [first, end])
    case .missed(let entries): (17, [entries])
    case .unknown(let kind, let numbers): (kind, Array(numbers.prefix(AuditEntry.numberCount)))
    }
  }

  /// What is not written in this way is `unknown`, and is written again as it was.
  package init(kind: UInt16, numbers: [UInt64]) {
    precondition(numbers.count == AuditEntry.numberCount)
    if let found = Self.known(kind, numbers), found.kind == kind, found.numbers == numbers {
      self = found
    } else {
      self = .unknown(kind: kind, numbers: numbers)
    }
  }

  private static func known(_ kind: UInt16, _ n: [UInt64]) -> AuditEvent? {
    switch kind {
    case 1: .unlocked(slot: n[0], isReadOnly: n[1] == 1, failed: n[2], firstFailed: n[3])
    case 2: AuditCause(rawValue: n[0]).map { .locked($0, isLost: n[1] == 1) }
    case 3: AuditExport(rawValue: n[0]).map { .exported($0, files: n[1], bytes: n[2]) }
    case 4: .erased(files: n[0], bytes: n[1])
    case 5: .expired(files: n[0])
    case 6: .passwordChanged(slot: n[0], generation: n[1])
    case 7: .slotAdded(slot: n[0], generation: n[1])
    case 8: .slotRemoved(slot: n[0], generation: n[1])
    case 9:
      AuditOutcome(rawValue: n[0]).map {
        .verified(
          $0, AuditScope(rawValue: n[1]).intersection(.all), damages: n[2], left: n[3])
      }
    case 10: .olderAccepted(generation: n[0])
    case 11: .journalLossAccepted(generation: n[0])
    case 12: AuditPolicy(rawValue: n[0]).map { .policyChanged($0, from: n[1], to: n[2]) }
    case 13: .consentGiven(version: n[0])
    case 14: .consentWithdrawn(version: n[0])
    case 15: .trimmed(entries: n[0], until: n[1])
    case 16: .lost(from: n[0], to: n[1])
    case 17: .missed(entries: n[0])
    default: nil
    }
  }
}
