import Bytes
package import Crypto
import Disk
import Engine
import Format
import POSIX
import Volume

extension Vault {
  /// There from the start of `create` to its end, or to the first open if it is killed before: a
  /// folder with it never held anything, one without it that lost its configuration may. (Its name
  /// is its own, as a killed `passwd` leaves `coffre.conf.new` behind.)
  static let mark = "coffre.init"
  private static let harmless: Set<String> = [mark, "lock", BackupMarkers.tag, BackupMarkers.note]
  private static let objects: Set<String> = [
    "root.0", "root.1", "data", "meta-a", "meta-b", "journal", "reserve", Configuration.newName,
    Configuration.fileName, Configuration.copyName,
  ]

  /// Makes a new vault in a folder that is absent or empty, or that a killed `create` left behind.
  package static func create(
    at path: String, password: borrowing SecretBytes, backup: BackupPolicy = .exclude
  ) throws(VaultError) {
    try makeFolder(path)
    let vault = try Vault(path: path)
    try checkEmpty(vault.disk)
    let lock = try vault.lock(exclusive: true)
    defer { withExtendedLifetime(lock) {} }
    // Another one may have finished since.
    try checkEmpty(vault.disk)
    let master = SecretBytes(random: 32)
    let configuration = try configuration(for: master, password)
    try vault.setBackupPolicy(backup)
    try fill(vault.disk, configuration, master, anchor: AnchorFolder.open())
  }

  /// The first configuration of a new vault, with one password.
  static func configuration(
    for master: borrowing SecretBytes, _ password: borrowing SecretBytes
  ) throws(VaultError) -> Configuration {
    var configuration = Configuration(vault: Random.bytes(16), generation: 1, cost: .frozen)
    configuration.slots[0] = try KeySlots.seal(
      master, password: password, in: configuration, at: 0)
    configuration.mac = KeySlots.mac(of: configuration, master)
    return configuration
  }

  /// Makes the vault's objects, the configuration last. Whatever a killed run left is written over.
  static func fill(
    _ disk: any Disk, _ configuration: Configuration, _ master: borrowing SecretBytes,
    _ options: EngineOptions = EngineOptions(), anchor: (any Disk)?
  ) throws(VaultError) {
    let owner = Caller(user: System.userNumber, group: System.groupNumber, mask: 0o077)
    do throws(DiskError) { try begin(disk) } catch { throw VaultError(error) }
    do throws(EngineError) {
      try Volume.create(
        on: disk, master: master, vault: configuration.vault, options: options,
        anchor: anchor, owner: owner)
    } catch { throw VaultError(error) }
    try ConfigurationFiles(disk: disk).write(configuration)
    try removeLeftovers(disk)
  }

  /// Removes what a killed `create` or `passwd` left beside a configuration that is whole. Must
  /// work before anything is stored: as long as the mark is there, `create` takes the folder for
  /// its own.
  static func removeLeftovers(_ disk: any Disk) throws(VaultError) {
    do throws(DiskError) {
      if try remove([mark, Configuration.newName], disk) { try disk.syncFolder("") }
    } catch { throw VaultError(error) }
  }

  /// False if none of the objects was there.
  static func remove(_ names: [String], _ disk: any Disk) throws(DiskError) -> Bool {
    var isChanged = false
    for name in names {
      do throws(DiskError) {
        try disk.remove(name)
        isChanged = true
      } catch {
        guard error.errno == .noSuchFile else { throw error }
      }
    }
    return isChanged
  }

  /// Whether `init` may work here; asked before a password is, so that nobody types one in vain.
  package static func checkCreatable(at path: String) throws(VaultError) {
    do throws(Errno) {
      guard try System.status(at: path).isDirectory else { throw Errno.notDirectory }
    } catch {
      guard error == .noSuchFile else { throw .noFolder(error) }
      // A link that leads nowhere has the name, though nothing is there.
      if (try? System.linkStatus(at: path.withoutLastSlashes)) != nil { throw .noFolder(.exists) }
      do throws(Errno) { _ = try System.realPath(path.pathParts.folder) } catch {
        if error == .illegalSequence { throw .badPath }
      }
      return
    }
    try checkEmpty(Vault(path: path).disk)
  }

  static func checkEmpty(_ disk: any Disk) throws(VaultError) {
    let names: Set<String>
    do throws(DiskError) { names = Set(try disk.list("")) } catch { throw VaultError(error) }
    let own = names.contains(mark) ? harmless.union(objects) : harmless
    // The mark may have come back, by a program that keeps folders in step: who has contents is a
    // vault that was used.
    if names.contains(mark), names.contains("data") {
      let contents: [String]
      do throws(DiskError) { contents = try disk.list("data") } catch { throw VaultError(error) }
      guard contents.isEmpty else { throw .isVault }
    }
    guard !names.isSubset(of: own) else { return }
    if ConfigurationFiles.areVault(names) { throw .isVault }
    throw ConfigurationFiles.haveLostConfiguration(names) ? .missingConfiguration : .notEmpty
  }

  private static func makeFolder(_ path: String) throws(VaultError) {
    do throws(Errno) {
      try System.makeDirectory(path, mode: 0o700)
      try System.fsync(System.open(path.pathParts.folder, [.directory]))
    } catch {
      guard error == .exists, (try? System.status(at: path).isDirectory) == true else {
        throw .noFolder(error)
      }
    }
  }

  private static func begin(_ disk: any Disk) throws(DiskError) {
    try write([], to: mark, disk)
    try disk.syncFolder("")
    _ = try remove([Configuration.fileName, Configuration.copyName], disk)
    try disk.syncFolder("")
  }

  static func write(
    _ bytes: [UInt8], to name: String, _ disk: any Disk
  ) throws(DiskError) {
    let file: any DiskFile
    do throws(DiskError) { file = try disk.create(name) } catch {
      guard error.errno == .exists else { throw error }
      file = try disk.open(name, writable: true)
    }
    try file.resize(UInt64(bytes.count))
    try file.write(Buffer(bytes).bytes, at: 0)
    try file.sync()
  }
}
