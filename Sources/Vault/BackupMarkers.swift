import Bytes
import Disk
import POSIX

/// Whether backup programs are to pass a vault by. What they would copy of it is ciphertext, and
/// safe anywhere; but it may be large, and a copy made while it is mounted is of no use.
///
/// The markers are the policy: it is `exclude` where one of the two files is there. So it travels
/// with a copy of the vault, and needs no password. Whoever may write the vault's folder may change
/// it: that gives nobody anything he could not have by copying or deleting the folder.
package enum BackupPolicy: String, CaseIterable, Sendable {
  case exclude
  case includeCiphertext = "include-ciphertext"
}

/// The two files among the markers, in the vault's folder.
enum BackupMarkers {
  static let tag = "CACHEDIR.TAG"
  static let note = ".nobackup"
  static let files = [tag, note]
  /// https://bford.info/cachedir/
  private static let signature = Array("Signature: 8a477f597d28d172789f06886806bc55".utf8)
  private static let text =
    signature
    + Array(
      """

      # This folder holds an encrypted vault of Coffre. Its files change together:
      # copy it as a whole, while it is locked.

      """.utf8)

  static func policy(_ disk: any Disk) throws(DiskError) -> BackupPolicy {
    Set(try disk.list("")).isDisjoint(with: files) ? .includeCiphertext : .exclude
  }

  /// Does nothing where all is as it should be. Lasts when it returns.
  static func set(_ policy: BackupPolicy, _ disk: any Disk) throws(DiskError) {
    var isChanged = false
    switch policy {
    case .exclude:
      if try !hasTag(disk) {
        try Vault.write(text, to: tag, disk)
        isChanged = true
      }
      do throws(DiskError) {
        _ = try disk.create(note)
        isChanged = true
      } catch {
        guard error.errno == .exists else { throw error }
      }
    case .includeCiphertext: isChanged = try Vault.remove(files, disk)
    }
    if isChanged { try disk.syncFolder("") }
  }

  private static func hasTag(_ disk: any Disk) throws(DiskError) -> Bool {
    let start = Buffer(count: signature.count)
    var span = start.mutableBytes(in: 0..<start.count)
    do throws(DiskError) {
      let file = try disk.open(tag, writable: false)
      return try file.read(into: &span, at: 0) == start.count && start.equals(signature, at: 0)
    } catch {
      guard error.errno == .noSuchFile else { throw error }
      return false
    }
  }
}

extension Vault {
  package func backupPolicy() throws(VaultError) -> BackupPolicy {
    do throws(DiskError) { return try BackupMarkers.policy(disk) } catch { throw VaultError(error) }
  }

  /// Sets or takes all markers, whether or not the vault is mounted.
  package func setBackupPolicy(_ policy: BackupPolicy) throws(VaultError) {
    do throws(DiskError) { try setMarkers(policy) } catch { throw VaultError(error) }
  }

  /// Puts back what is missing of the markers, where one of the files is there. A mount goes on
  /// without; answers with what a person should know.
  func repairMarkers() -> String? {
    do throws(DiskError) {
      if try BackupMarkers.policy(disk) == .exclude { try setMarkers(.exclude) }
      return nil
    } catch {
      let what = error.displaced ?? "\(error.object): \(error.errno.description.lowercased())"
      return "the markers that keep backup programs out of the vault can't be put back: \(what)"
    }
  }

  private func setMarkers(_ policy: BackupPolicy) throws(DiskError) {
    do throws(Errno) { try markFolder(policy) } catch {
      throw DiskError(errno: error, operation: "mark", object: "")
    }
    try BackupMarkers.set(policy, disk)
  }

  /// The attribute and the flag of the folder, where the filesystem has them.
  private func markFolder(_ policy: BackupPolicy) throws(Errno) {
    let folder = try System.open(path, [.directory])
    do throws(Errno) { try setAttribute(policy, of: folder) } catch {
      guard error.isNoMark else { throw error }
    }
    switch policy {
    case .exclude: try setFlag(true, of: folder)
    case .includeCiphertext: try clearFlags(folder)
    }
  }

  private func setAttribute(
    _ policy: BackupPolicy, of folder: borrowing Descriptor
  ) throws(Errno) {
    let name = "user.xdg.robots.backup"
    let value = policy == .exclude ? Array("false".utf8) : nil
    guard try System.attribute(name, of: folder) != value else { return }
    if let value {
      try System.setAttribute(name, to: value, of: folder)
    } else {
      try System.removeAttribute(name, of: folder)
    }
  }

  private func setFlag(_ isSet: Bool, of file: borrowing Descriptor) throws(Errno) {
    do throws(Errno) { try System.setUndumped(file, isSet) } catch {
      guard error.isNoMark else { throw error }
    }
  }

  /// From a folder and all below it: what was made there has inherited the flag on ext4 and others.
  /// From the folder first, so that what is made meanwhile has none.
  private func clearFlags(_ folder: borrowing Descriptor, depth: Int = 0) throws(Errno) {
    try setFlag(false, of: folder)
    guard depth < 2 else { return }
    for name in try System.names(in: folder) {
      // What is gone meanwhile, and what is no file of the vault, has nothing to lose.
      guard let status = try? System.status(of: name, in: folder),
        status.isRegular || status.isDirectory,
        let file = try? System.open(name, in: folder, [.noFollow, .nonBlocking])
      else { continue }
      if status.isDirectory {
        try clearFlags(file, depth: depth + 1)
      } else {
        try setFlag(false, of: file)
      }
    }
  }
}
