package import Crypto
import Engine
package import Format
package import Volume

/// What the audit log of a vault tells.
package struct AuditView: Sendable {
  package let record: AuditRecord
  /// What is still to be taken over into the log, from where nothing proves it.
  package let notes: [AuditEntry]
  /// Whether this machine has seen a later state of the vault, or another one.
  package let isOlder: Bool
}

extension Vault {
  /// Reads the audit log of a vault that nobody writes to; nothing is changed by it.
  package func audit(password: borrowing SecretBytes) throws(VaultError) -> AuditView {
    let lock = try lock(exclusive: false)
    defer { withExtendedLifetime(lock) {} }
    let unlocked = try counting { () throws(VaultError) in try configuration.unlock(password) }
    let volume = try openVolume(unlocked, Self.reading)
    defer { try? volume.close() }
    let information = VaultInformation(unlocked.configuration, copiesDiffer: unlocked.unequal)
    return try volume.audit(AuditNotes(information.identifier))
  }
}

extension OpenVault {
  /// The same while it is in use.
  package func auditView() throws(VaultError) -> AuditView {
    try volume.audit(AuditNotes(information.identifier))
  }
}

extension Volume {
  fileprivate func audit(_ notes: AuditNotes?) throws(VaultError) -> AuditView {
    do throws(VolumeError) {
      var waiting: [AuditEntry] = []
      if let noted = notes?.read() { waiting = try newEntries(ofNotes: noted) }
      return AuditView(
        record: try auditRecord(), notes: waiting,
        // A mount that writes has accepted it.
        isOlder: isReadOnly && warnings.contains(.olderAccepted))
    } catch {
      switch error {
      case .damaged(let what): throw .damagedStore(what)
      case .locked: throw .locked
      case .readOnly(let reason): throw .readOnly(reason)
      case .system(let errno): throw .system(errno, operation: "audit log")
      }
    }
  }
}
