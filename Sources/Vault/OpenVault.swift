package import Crypto
import Disk
import Engine
import Format
import POSIX
package import Volume

/// A vault that is unlocked and held by this process, until `close`.
package final class OpenVault: Sendable {
  package let vault: Vault
  package let information: VaultInformation
  package let volume: Volume
  /// Where what is done with the vault is written down.
  package let audit: AuditWriter
  /// The key slot that it was opened with.
  private let slot: Int
  /// Passwords that were tried in vain before this one.
  private let failedAttempts: FailedAttempts?
  /// Why backup programs may take the vault along, as a sentence.
  private let markerProblem: String?
  let isReadOnly: Bool
  private let lock: Lock<VaultLock?>
  /// Whether it is closed. Held by a change of the configuration: there is one at a time, and the
  /// vault is not closed in the midst of it.
  private let isClosed = Lock(false)

  init(
    _ vault: Vault, _ information: VaultInformation, _ volume: Volume, isReadOnly: Bool,
    slot: Int = 0, failedAttempts: FailedAttempts? = nil, markerProblem: String? = nil,
    lock: VaultLock
  ) {
    self.vault = vault
    self.information = information
    self.volume = volume
    self.slot = slot
    audit = AuditWriter(volume, vault: information.identifier)
    self.isReadOnly = isReadOnly
    self.failedAttempts = failedAttempts
    self.markerProblem = markerProblem
    self.lock = Lock(lock)
  }

  /// How many calls of the vault's disk have come to their end; rises only.
  package var finishedCalls: Int { vault.disk.finishedCalls }

  /// What a person should be told after the mount, as sentences.
  package var notices: [String] {
    [failedAttempts?.sentence, markerProblem].compactMap(\.self)
      + volume.warnings.map { sentence($0) } + audit.problems
  }

  /// The notices were heard.
  package func forgetFailedAttempts() {
    if let path = vault.attempts { failedAttempts?.forget(path) }
  }

  /// What is wrong with the vault while it is mounted, as sentences.
  package var problems: [String] {
    let failure = volume.statistics.failure.map { ["no change is taken any more: \($0)"] } ?? []
    return failure + audit.problems + volume.warnings.filter { $0.isLasting }.map { sentence($0) }
  }

  private func sentence(_ warning: OpenWarning) -> String {
    // Nothing is accepted, let alone discarded, by looking.
    switch warning {
    case .olderAccepted where isReadOnly:
      "this vault is older than, or a fork of, what this machine has seen of it"
    case .rootCopyHealed where isReadOnly:
      "one copy of the root is damaged or older; a mount for writing makes it good"
    default: warning.sentence
    }
  }

  /// Writes down that it was unlocked, and how.
  package func recordUnlock() {
    var events: [AuditEvent] = []
    for warning in isReadOnly ? [] : volume.warnings {
      let generation = volume.statistics.generation
      switch warning {
      case .olderAccepted: events.append(.olderAccepted(generation: generation))
      case .journalLossAccepted: events.append(.journalLossAccepted(generation: generation))
      default: break
      }
    }
    let unlock = AuditEvent.unlocked(
      slot: UInt64(slot), isReadOnly: isReadOnly, failed: UInt64(failedAttempts?.count ?? 0),
      firstFailed: UInt64(clamping: failedAttempts?.first ?? 0))
    audit.record(events + [unlock])
  }

  /// Changes the password while the vault is in use. `user` is who asked for it.
  package func changePassword(
    old: borrowing SecretBytes, new: borrowing SecretBytes, user: UInt32? = nil
  ) throws(VaultError) {
    guard !isReadOnly else { throw .readOnly("the vault is mounted read-only") }
    try isClosed.withLock { (isClosed) throws(VaultError) in
      guard !isClosed else { throw .locked }
      let generation = try vault.counting { () throws(VaultError) in
        try vault.configuration.changePassword(old: old, new: new) { generation, slot in
          audit.record(.passwordChanged(slot: UInt64(slot), generation: generation), user: user)
        }
      }
      do throws(EngineError) { try volume.noteConfiguration(generation: generation) } catch {
        throw .passwordChanged(but: VaultError(error))
      }
    }
  }

  /// Writes everything, wipes the keys and lets the vault go, whether or not the writing went well.
  /// A change of the password that is under way ends first.
  package func close() throws(VolumeError) {
    isClosed.withLock { $0 = true }
    defer { lock.withLock { $0 = nil } }
    try volume.close()
  }
}

extension Vault {
  /// Takes the vault's lock, tries the password, and opens the volume.
  ///
  /// Damage is told before the password is tried, and another holder before the 64 MiB are taken.
  package func open(
    password: borrowing SecretBytes, options: VaultOptions
  ) throws(VaultError) -> OpenVault {
    _ = try configuration.read()
    let lock = try lock(exclusive: !options.readOnly)
    let unlocked = try counting { () throws(VaultError) in
      options.readOnly
        ? try configuration.unlock(password) : try configuration.unlockAndHeal(password)
    }
    if !options.readOnly { try Self.removeLeftovers(disk) }
    let slot = unlocked.slot
    let volume = try openVolume(unlocked, options)
    let problem = volume.isReadOnly ? nil : repairMarkers()
    return OpenVault(
      self, VaultInformation(unlocked.configuration, copiesDiffer: false), volume,
      isReadOnly: volume.isReadOnly, slot: slot,
      failedAttempts: attempts.flatMap { FailedAttempts.read($0) }, markerProblem: problem,
      lock: lock)
  }
}
