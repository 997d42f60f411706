import Disk
import Engine
package import POSIX

/// Why something could not be done with a vault. No password, key or name of the user is in any of
/// them.
package indirect enum VaultError: Error, Hashable, Sendable {
  /// The folder for a new vault can't be made, or something else has its name.
  case noFolder(Errno)
  /// A folder on the way to it has a name that is not UTF-8.
  case badPath
  /// There is no folder, or none of a vault.
  case noSuchVault
  /// Data of a vault, and no configuration: never an occasion for a new vault.
  case missingConfiguration
  /// A new vault needs a folder without anything in it.
  case notEmpty
  /// A new vault was to be made where there is one.
  case isVault
  /// No key slot opens.
  case wrongPassword
  /// Both copies of the configuration are damaged.
  case damagedConfiguration
  /// A piece of the store does not authenticate or is missing; the string names it.
  case damagedStore(String)
  /// The journal can't be replayed to its end. What is wrong with which object; and whether it may
  /// be another time, since it was the disk that failed.
  case damagedJournal(String, mayPass: Bool)
  /// In an object's place there is something else, or the same file has another name too; the
  /// string names the object.
  case displaced(String)
  /// Made by a newer Coffre.
  case unsupported
  /// This machine has seen a newer state of the vault.
  case older
  /// The state this machine saw last is not in the vault's history.
  case forked
  /// This machine, or the vault itself, knows a newer configuration: an old password was put back.
  case olderConfiguration
  /// Another process holds the vault.
  case inUse
  case noSpace
  /// No memory for the password function.
  case outOfMemory
  /// Nothing can be changed; the reason as a sentence.
  case readOnly(String)
  /// It was locked before anything was done.
  case locked
  /// The new password holds, and the old one no more; what came after that failed.
  case passwordChanged(but: VaultError)
  /// A system call on an object of the vault failed.
  case system(Errno, operation: String)
}

extension VaultError {
  init(_ error: DiskError) {
    if error.errno.isFull {
      self = .noSpace
    } else if let what = error.displaced {
      self = .displaced(what)
    } else {
      let object = error.object.isEmpty ? "" : " " + error.object
      self = .system(error.errno, operation: error.operation + object)
    }
  }

  init(_ error: EngineError) {
    switch error {
    case .disk(let failure): self.init(failure)
    case .damaged(let what): self = .damagedStore(what)
    case .journalDamaged(let gap): self = .damagedJournal(gap.sentence, mayPass: gap.mayPass)
    case .unsupported: self = .unsupported
    case .older: self = .older
    case .forked: self = .forked
    case .olderConfiguration: self = .olderConfiguration
    case .noSpace: self = .noSpace
    case .readOnly(let reason): self = .readOnly(reason)
    case .posix(let errno): self = .system(errno, operation: "volume")
    case .closed: self = .system(.badDescriptor, operation: "volume")
    }
  }
}
