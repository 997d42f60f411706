package import Crypto
import Disk
import Engine
import Format
import POSIX
package import Volume

/// What a check of a vault came to.
package struct VerifyResult: Sendable {
  package var report: ScrubReport
  /// Whether this machine has seen a later state of the vault, or another one.
  package var isOlder = false
  /// Why damage could not be repaired, beyond what the report shows.
  package var repairFailure: VaultError?
  /// What a person should be told besides, as sentences.
  package var notices: [String] = []

  /// A part of the journal that could not be replayed was not checked.
  mutating func note(_ warnings: [OpenWarning]) {
    for warning in warnings {
      switch warning {
      case .journalCut(let gap): report.damages.append(gap.damage)
      case .olderAccepted: isOlder = true
      default: break
      }
    }
  }
}

/// Why a check was not done.
package enum VerifyError: Error, Hashable, Sendable {
  case vault(VaultError)
  /// Nothing in the vault has that path.
  case noSuchPath
  /// It was stopped, or the vault locked, before it was done.
  case stopped
}

extension Vault {
  /// Checks a vault that nobody writes to: holds its lock shared, or to repair exclusively.
  ///
  /// To repair, everything is checked without changing anything, then mended, then the metadata is
  /// checked again: what is told of as repaired was found good afterwards.
  package func verify(
    password: borrowing SecretBytes, _ options: ScrubOptions,
    _ tell: @escaping (ScrubProgress) -> Bool
  ) throws(VerifyError) -> VerifyResult {
    do {
      let lock = try lock(exclusive: options.repairs)
      defer { withExtendedLifetime(lock) {} }
      let unlocked = try counting { () throws(VaultError) in try configuration.unlock(password) }
      var first = options
      first.repairs = false
      let volume = try openVolume(unlocked, Self.reading)
      defer { try? volume.close() }
      var result = VerifyResult(report: try volume.verified(first, tell))
      let configurations = try configuration.damage(unlocked)
      result.report.damages.insert(contentsOf: configurations, at: 0)
      result.note(volume.warnings)
      guard options.repairs, !result.report.damages.isEmpty else {
        let audit = auditing(volume, unlocked)
        audit.record(.check(options, result.report))
        result.notices = audit.problems
        return result
      }
      try repair(&result, unlocked, tell)
      return result
    } catch let error as VaultError { throw .vault(error) } catch let error as VerifyError {
      throw error
    } catch { preconditionFailure("only these two are thrown") }
  }

  private func auditing(_ volume: Volume, _ unlocked: borrowing Unlocked) -> AuditWriter {
    let information = VaultInformation(unlocked.configuration, copiesDiffer: unlocked.unequal)
    return AuditWriter(volume, vault: information.identifier)
  }

  static var reading: VaultOptions {
    var options = VaultOptions()
    options.readOnly = true
    return options
  }

  private func repair(
    _ result: inout VerifyResult, _ unlocked: borrowing Unlocked,
    _ tell: @escaping (ScrubProgress) -> Bool
  ) throws(VerifyError) {
    let left: [Damage]
    do throws(VerifyError) { left = try mend(&result, unlocked, tell) } catch {
      guard case .vault(let failure) = error else { throw error }
      // What was found stays as it is, and is told.
      result.repairFailure = failure
      return
    }
    let leftKeys = Set(left.map { $0.key })
    for index in result.report.damages.indices {
      let damage = result.report.damages[index]
      result.report.damages[index].isRepaired =
        damage.kind != .chunk && !leftKeys.contains(damage.key)
    }
    let known = Set(result.report.damages.map { $0.key })
    result.report.damages += left.filter { !known.contains($0.key) }
  }

  /// Opens the vault for writing, which mends a part, and then the rest. Returns what is left.
  private func mend(
    _ result: inout VerifyResult, _ unlocked: borrowing Unlocked,
    _ tell: @escaping (ScrubProgress) -> Bool
  ) throws(VerifyError) -> [Damage] {
    let volume: Volume
    do throws(VaultError) {
      if unlocked.unequal { try configuration.write(unlocked.configuration) }
      var options = VaultOptions()
      options.worksInBackground = false
      volume = try openVolume(unlocked, options)
    } catch { throw .vault(error) }
    // A vault on a full disk can be opened only to be read.
    if volume.isReadOnly { result.repairFailure = .noSpace }
    var left: [Damage] = []
    var failure: VerifyError?
    do throws(VerifyError) {
      left = try Self.repair(volume, tell)
      let found = result.report
      // These rounds do not look at contents, which nothing repairs.
      let rest = UInt64(left.count + found.damages.count { $0.kind == .chunk })
      let audit = auditing(volume, unlocked)
      audit.record(
        .verified(
          rest == 0 ? .repaired : .damaged, .repair,
          damages: UInt64(found.damages.count) + found.omitted, left: rest))
      result.notices = audit.problems
    } catch { failure = error }
    do throws(VolumeError) { try volume.close() } catch {
      result.repairFailure = VaultError(closing: error)
    }
    if let failure { throw failure }
    do throws(VaultError) { return left + (try configuration.damage(unlocked)) } catch {
      throw .vault(error)
    }
  }

  /// Mends the metadata until nothing is left to mend. Returns what is damaged then.
  private static func repair(
    _ volume: Volume, _ tell: @escaping (ScrubProgress) -> Bool
  ) throws(VerifyError) -> [Damage] {
    var options = ScrubOptions()
    options.isQuick = true
    options.repairs = true
    var before: Set<Damage.Key>?
    // What one round mends may bring to light what the next one finds; and what it has mended is
    // believed when the next one finds it good.
    for _ in 0..<8 {
      let damages = try volume.verified(options, tell).damages
      let keys = Set(damages.map { $0.key })
      if keys.isEmpty || keys == before { return damages }
      before = keys
    }
    options.repairs = false
    return try volume.verified(options, tell).damages.filter { !$0.isRepaired }
  }
}

extension OpenVault {
  /// Checks the vault while it is in use. `user` is who asked for it.
  package func verify(
    _ options: ScrubOptions, user: UInt32? = nil,
    _ tell: @escaping (ScrubProgress) -> Bool
  ) throws(VerifyError) -> VerifyResult {
    precondition(!options.repairs, "a vault in use is not repaired")
    // What was written a moment ago is to be checked, too. Where it can't be stored, what is stored
    // is checked all the same.
    try? volume.syncAll()
    var result = VerifyResult(report: try volume.verified(options, tell))
    let found: ConfigurationFiles.Found
    do throws(VaultError) { found = try vault.configuration.read() } catch { throw .vault(error) }
    result.report.damages.insert(contentsOf: found.damages, at: 0)
    if isReadOnly { result.note(volume.warnings) }
    audit.record(.check(options, result.report), user: user)
    return result
  }
}

extension AuditEvent {
  /// A check that repaired nothing.
  fileprivate static func check(_ options: ScrubOptions, _ report: ScrubReport) -> AuditEvent {
    var scope: AuditScope = []
    if options.isQuick { scope.insert(.quick) }
    if options.path != nil { scope.insert(.part) }
    if options.repairs { scope.insert(.repair) }
    let count = UInt64(report.damages.count) + report.omitted
    return .verified(count == 0 ? .clean : .damaged, scope, damages: count, left: count)
  }
}

extension Volume {
  fileprivate func verified(
    _ options: ScrubOptions, _ tell: @escaping (ScrubProgress) -> Bool
  ) throws(VerifyError) -> ScrubReport {
    do throws(VolumeError) { return try scrub(options, tell) } catch {
      switch error {
      case .locked: throw .stopped
      case .system(.noSuchFile), .system(.notDirectory), .system(.stale): throw .noSuchPath
      case .system(let errno): throw .vault(.system(errno, operation: "verify"))
      case .damaged(let what): throw .vault(.damagedStore(what))
      case .readOnly(let reason): throw .vault(.readOnly(reason))
      }
    }
  }
}

extension JournalGap {
  /// What was recovered ends there, so that is all that was checked.
  fileprivate var damage: Damage {
    var damage = Damage(.journal)
    damage.objects = [object]
    damage.detail = "\(sentence); changes after that point were not checked"
    return damage
  }
}

extension VaultError {
  init(closing error: VolumeError) {
    if case .damaged(let what) = error {
      self = .damagedStore(what)
    } else {
      self = error.errno == .noSpace ? .noSpace : .system(error.errno, operation: "close")
    }
  }
}

extension ConfigurationFiles {
  /// Copies that are missing or damaged, or that nobody with the master key has written.
  func damage(_ unlocked: borrowing Unlocked) throws(VaultError) -> [Damage] {
    var found = try read()
    if found.damaged.isEmpty {
      // Both are readable; which is which is told by what they hold.
      for configuration in found.copies
      where !KeySlots.isAuthentic(configuration, unlocked.master) {
        if let name = try name(of: configuration) { found.damaged.append(name) }
      }
    }
    return found.damages
  }
}

extension ConfigurationFiles.Found {
  var damages: [Damage] {
    damaged.map { name in
      var damage = Damage(.configuration)
      damage.objects = [name]
      damage.detail = "one copy of the configuration; the other is good"
      return damage
    }
  }
}
