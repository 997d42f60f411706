package import Crypto
import Disk
import Engine
import Format
import POSIX
import Volume

/// The folder on disk that holds the ciphertext. Nothing is decrypted by having one.
package final class Vault: Sendable {
  /// Absolute and without links.
  package let path: String
  let disk: PosixDisk

  /// A folder that is there; whether it holds a vault is seen by the first use.
  package init(path: String) throws(VaultError) {
    do throws(Errno) { self.path = try System.realPath(path) } catch {
      throw Self.folderError(error)
    }
    do { disk = try PosixDisk(path: self.path) } catch { throw Self.folderError(error.errno) }
  }

  private static func folderError(_ errno: Errno) -> VaultError {
    switch errno {
    case .noSuchFile, .notDirectory: .noSuchVault
    case .illegalSequence: .badPath
    default: .system(errno, operation: "open")
    }
  }

  var configuration: ConfigurationFiles { ConfigurationFiles(disk: disk) }

  /// What the configuration tells without a password.
  package func information() throws(VaultError) -> VaultInformation {
    let found = try configuration.read()
    return VaultInformation(found.copies[0], copiesDiffer: found.unequal)
  }

  func lock(exclusive: Bool) throws(VaultError) -> VaultLock {
    do { return try disk.lock(exclusive: exclusive) } catch {
      throw error.errno == .tryAgain ? .inUse : VaultError(error)
    }
  }

  /// Throws if another process holds the vault; holds nothing itself.
  package func checkFree(exclusive: Bool) throws(VaultError) { _ = try lock(exclusive: exclusive) }

  /// Changes the password of a vault that nobody has open.
  ///
  /// The volume is opened first: what keeps a mount from working keeps the password as it is, and
  /// root and anchor hear of the new configuration, so that the old one will be refused. Returns
  /// what a person should be told, as sentences.
  package func changePassword(
    old: borrowing SecretBytes, new: borrowing SecretBytes
  ) throws(VaultError) -> [String] {
    let vault = try open(password: old, options: VaultOptions())
    guard !vault.volume.isReadOnly else {
      try? vault.close()
      throw .noSpace
    }
    do throws(VaultError) { try vault.changePassword(old: old, new: new) } catch {
      try? vault.close()
      throw error
    }
    do throws(VolumeError) { try vault.close() } catch {
      throw .passwordChanged(but: .system(error.errno, operation: "close"))
    }
    return vault.audit.problems
  }

  func openVolume(
    _ unlocked: borrowing Unlocked, _ options: VaultOptions
  ) throws(VaultError) -> Volume {
    var engine = EngineOptions()
    engine.readOnly = options.readOnly
    engine.acceptOlder = options.acceptOlder
    engine.acceptJournalLoss = options.acceptJournalLoss
    engine.worksInBackground = options.worksInBackground
    engine.configurationGeneration = unlocked.configuration.generation
    do throws(EngineError) {
      return try Volume.open(
        on: disk, master: unlocked.master, vault: unlocked.configuration.vault, options: engine,
        anchor: AnchorFolder.open())
    } catch { throw VaultError(error) }
  }
}

/// What anybody may know of a vault.
package struct VaultInformation: Hashable, Sendable {
  /// 32 hexadecimal digits.
  package let identifier: String
  package let formatVersion: UInt32
  package let generation: UInt64
  package let usedSlots: Int
  package let slots: Int
  /// One copy of the configuration is damaged, missing or older; the next mount makes it good.
  package let copiesDiffer: Bool

  init(_ configuration: Configuration, copiesDiffer: Bool) {
    identifier = configuration.vault.map { byte in
      let digits = String(byte, radix: 16)
      return digits.count == 1 ? "0" + digits : digits
    }.joined()
    formatVersion = Layout.version
    generation = configuration.generation
    usedSlots = configuration.slots.count { $0 != nil }
    slots = configuration.slots.count
    self.copiesDiffer = copiesDiffer
  }
}

/// How a vault is opened.
package struct VaultOptions: Hashable, Sendable {
  package var readOnly = false
  /// An older or forked state is taken as the true one from now on.
  package var acceptOlder = false
  /// What can be replayed of a damaged journal is taken as all of it.
  package var acceptJournalLoss = false
  /// Whether contents are framed and deleted files released by threads of their own.
  package var worksInBackground = true
  package init() {}
}
