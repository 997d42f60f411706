import Bytes
package import Crypto
import Disk
import Engine
import Format
import POSIX
import Volume

extension Vault {
  private static let leftovers: Set<String> = [
    Configuration.newName, "CACHEDIR.TAG", "lock", "root.0", "root.1", "data", "meta-a", "meta-b",
    "journal",
  ]
  private static let harmless: Set<String> = [Configuration.newName, "CACHEDIR.TAG", "lock"]

  /// Makes a new vault in a folder that is absent or empty, or that a killed `create` left behind.
  ///
  /// An empty `coffre.conf.new` comes before the store and becomes the configuration at the end. So
  /// a store without it and without a configuration is one that lost its configuration: never
  /// touched.
  package static func create(
    at path: String, password: borrowing SecretBytes
  ) throws(VaultError) {
    try makeFolder(path)
    let vault = try Vault(path: path)
    try vault.checkEmpty()
    let lock = try vault.lock(exclusive: true)
    try vault.checkEmpty()
    try vault.writeTag()
    let identifier = Random.bytes(16)
    let master = SecretBytes(random: 32)
    var configuration = Configuration(vault: identifier, generation: 1, cost: .frozen)
    configuration.slots[0] = try KeySlots.seal(
      master, password: password, in: configuration, at: 0)
    configuration.mac = KeySlots.mac(of: configuration, master)
    let owner = Caller(user: System.userNumber, group: System.groupNumber, mask: 0o077)
    do throws(EngineError) {
      try Volume.create(
        on: vault.disk, master: master, vault: identifier, options: EngineOptions(),
        anchor: AnchorFolder.open(), owner: owner)
    } catch { throw VaultError(error) }
    try vault.configuration.write(configuration)
    _ = lock
  }

  /// Whether `init` may work here; asked before a password is, so that nobody types one in vain.
  package static func checkCreatable(at path: String) throws(VaultError) {
    do throws(Errno) { _ = try System.status(at: path) } catch {
      if error == .noSuchFile { return }
      throw .system(error, operation: "stat")
    }
    try Vault(path: path).checkEmpty()
  }

  private func checkEmpty() throws(VaultError) {
    let names: Set<String>
    do { names = Set(try disk.list("")) } catch { throw VaultError(error) }
    guard names.isSubset(of: Self.leftovers) else {
      let configured =
        names.contains(Configuration.fileName)
        || names.contains(Configuration.copyName)
      throw !configured && names.contains("root.0") && names.contains("data")
        ? .missingConfiguration : .notEmpty
    }
    guard names.isSubset(of: Self.harmless) || names.contains(Configuration.newName) else {
      throw .missingConfiguration
    }
  }

  private static func makeFolder(_ path: String) throws(VaultError) {
    do throws(Errno) {
      try System.makeDirectory(path, mode: 0o700)
      var trimmed = Substring(path)
      while trimmed.count > 1, trimmed.hasSuffix("/") { trimmed.removeLast() }
      let parent = trimmed.lastIndex(of: "/").map { trimmed[..<$0] }
      let name = parent.map { $0.isEmpty ? "/" : String($0) } ?? "."
      try System.fsync(System.open(name, [.directory]))
    } catch {
      guard error == .exists else {
        throw error == .noSuchFile ? .noSuchVault : .system(error, operation: "mkdir")
      }
    }
  }

  /// Backups and indexers pass a folder with this tag by; see https://bford.info/cachedir/.
  private func writeTag() throws(VaultError) {
    let text = """
      Signature: 8a477f597d28d172789f06886806bc55
      # This folder holds an encrypted vault of Coffre. Its files change together:
      # copy it as a whole, while it is locked.

      """
    do throws(DiskError) {
      try write(Array(text.utf8), to: "CACHEDIR.TAG")
      try write([], to: Configuration.newName)
      try disk.syncFolder("")
    } catch { throw VaultError(error) }
  }

  private func write(_ bytes: [UInt8], to name: String) throws(DiskError) {
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
