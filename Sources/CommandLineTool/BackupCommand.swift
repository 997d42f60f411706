import Session
import Vault

/// `coffre backup-policy`: tells or sets whether backup programs are to pass a vault by.
enum BackupCommand {
  static func run(_ arguments: Arguments) throws(Failure) {
    let path = arguments.positional[0]
    let policy =
      arguments.positional.count > 1 ? try BackupPolicy(word: arguments.positional[1]) : nil
    do throws(VaultError) {
      let vault = try Vault(path: path)
      _ = try vault.information()
      guard let policy else { return Output.line(try vault.backupPolicy().rawValue) }
      try vault.setBackupPolicy(policy)
    } catch { throw Failure(error, vault: path) }
  }
}

extension BackupPolicy {
  static let words = allCases.map(\.rawValue).joined(separator: " or ")

  init(word: String) throws(Failure) {
    guard let policy = BackupPolicy(rawValue: word) else {
      throw Failure(.usage, "there is no backup policy \(word)", hint: Self.words)
    }
    self = policy
  }
}
