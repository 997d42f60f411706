package import POSIX
package import Vault

/// Why a command failed, as a person reads it: one line, perhaps one with a hint, and an exit code.
package struct Failure: Error, Hashable, Sendable {
  package let code: ExitCode
  package let message: String
  package let hint: String?

  package init(_ code: ExitCode, _ message: String, hint: String? = nil) {
    self.code = code
    self.message = message
    self.hint = hint
  }

  package init(_ errno: Errno, doing: String) {
    self.init(
      errno.isFull ? .noSpace : .systemError, "\(doing): \(errno.description.lowercased())")
  }
}

extension Failure {
  /// The sentence for each way a vault can refuse.
  package init(_ error: VaultError, vault: String) {
    switch error {
    case .noSuchVault:
      self.init(.noSuchVault, "no vault at \(vault)", hint: "make one with `coffre init \(vault)`")
    case .noFolder(let errno):
      self.init(
        .systemError, "the folder \(vault) can't be made: \(errno.description.lowercased())",
        hint: Self.hint(errno))
    case .badPath: self = Self.badPath(vault)
    case .missingConfiguration:
      self.init(
        .missingConfiguration,
        "\(vault) holds the data of a vault, but its configuration is missing",
        hint: "put coffre.conf or coffre.conf.copy back from a backup; nothing was changed")
    case .notEmpty:
      self.init(.notEmpty, "\(vault) is not empty", hint: "give a folder that is new or empty")
    case .isVault:
      self.init(
        .notEmpty, "\(vault) is a vault already",
        hint: "see `coffre info \(vault)`; for a new one give a folder that is new or empty")
    case .wrongPassword: self.init(.wrongPassword, "the password does not open this vault")
    case .damagedConfiguration:
      self.init(
        .damagedConfiguration, "the configuration of this vault is damaged, in both copies",
        hint: "the password was not tried; put coffre.conf back from a backup")
    case .damagedStore(let what):
      self.init(
        .damagedStore, "the vault is damaged: \(what)", hint: "put the vault back from a backup")
    case .damagedJournal(let what, let mayPass):
      let ways =
        "`coffre mount --read-only` shows the vault as it was before that point; "
        + "with --accept-journal-loss it goes on from there, and what came later is given up"
      self.init(
        .damagedJournal, what,
        hint: (mayPass ? "try again first, the disk may do better; " : "") + ways)
    case .displaced(let what):
      self.init(
        .damagedStore, "the vault is damaged: \(what)",
        hint: "put it back from a backup; a copy made by `cp -r` has one name for each file")
    case .unsupported: self.init(.unsupported, "this vault was made by a newer coffre")
    case .older: self = .stale("this vault is older than what this machine has seen of it")
    case .forked: self = .stale("this vault has another history than the one this machine knows")
    case .olderConfiguration:
      self.init(
        .older, "the configuration is older than the vault",
        hint: "the password was changed since; put the newest coffre.conf back")
    case .inUse:
      self.init(.inUse, "the vault is in use", hint: "see `coffre status`, or lock it first")
    case .noSpace: self.init(.noSpace, "no space left where the vault is")
    case .outOfMemory: self.init(.systemError, "not enough memory to try the password (64 MiB)")
    case .readOnly(let reason): self.init(.systemError, reason)
    case .locked: self.init(.notMounted, "the vault was locked in the meantime")
    case .passwordChanged(let error):
      let reason = Failure(error, vault: vault)
      self.init(
        reason.code, "the password is changed, the new one holds; but then: \(reason.message)",
        hint: "the next mount does the rest")
    case .system(let errno, let operation): self.init(errno, doing: "\(vault): \(operation)")
    }
  }

  static func badPath(_ path: String) -> Failure {
    Failure(
      .usage, "the whole path of \(path) is not UTF-8",
      hint: "rename the folder whose name is not")
  }

  /// What to do where the folder of a new vault can't be made.
  private static func hint(_ errno: Errno) -> String? {
    switch errno {
    case .noSuchFile: "make the folder it is in first"
    case .exists: "it is a link that leads nowhere; remove it, or make the folder it names"
    default: nil
    }
  }

  private static func stale(_ message: String) -> Failure {
    Failure(
      .older, message,
      hint: "if you put a backup back on purpose, mount once with --accept-older")
  }
}
