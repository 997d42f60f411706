import Bytes
import Crypto
import Disk
import Format
import POSIX

/// The two copies of the configuration in the vault's folder.
struct ConfigurationFiles {
  let disk: any Disk

  private enum Copy {
    case missing
    case damaged
    case unsupported
    case good(Configuration)
  }

  /// What was found: the good copies, the newest first; whether something is to be made equal.
  struct Found {
    var copies: [Configuration]
    var unequal: Bool
    /// The names of copies that are missing or damaged.
    var damaged: [String] = []
  }

  /// Reads both copies. Takes no password and no memory: damage is told here, before any key is
  /// derived.
  func read() throws(VaultError) -> Found {
    let first = try copy(Configuration.fileName)
    let second = try copy(Configuration.copyName)
    var found: [Configuration] = []
    var damaged: [String] = []
    var missing = 0
    for (copy, name) in [(first, Configuration.fileName), (second, Configuration.copyName)] {
      switch copy {
      case .unsupported: throw .unsupported
      case .missing:
        missing += 1
        damaged.append(name)
      case .damaged: damaged.append(name)
      case .good(let configuration): found.append(configuration)
      }
    }
    if missing == 2 {
      throw try hasData() ? .missingConfiguration : .noSuchVault
    }
    guard let one = found.first else { throw .damagedConfiguration }
    if found.count == 2, found[0] == found[1] { return Found(copies: [one], unequal: false) }
    found.sort { $0.generation > $1.generation }
    return Found(copies: found, unequal: true, damaged: damaged)
  }

  /// Which of the two copies holds a configuration.
  func name(of configuration: Configuration) throws(VaultError) -> String? {
    for name in [Configuration.fileName, Configuration.copyName] {
      if case .good(let found) = try copy(name), found == configuration { return name }
    }
    return nil
  }

  /// Whether the folder holds a store that was in use. One that `create` did not finish never was.
  private func hasData() throws(VaultError) -> Bool {
    do throws(DiskError) { return Self.haveLostConfiguration(Set(try disk.list(""))) } catch {
      throw VaultError(error)
    }
  }

  /// Whether the names of a folder are those of a store without its configuration.
  static func haveLostConfiguration(_ names: Set<String>) -> Bool {
    haveStore(names) && !haveConfiguration(names)
  }

  /// Whether the names of a folder are those of a vault that `create` has finished.
  static func areVault(_ names: Set<String>) -> Bool {
    haveStore(names) && haveConfiguration(names)
  }

  private static func haveStore(_ names: Set<String>) -> Bool {
    let hasRoot = !names.isDisjoint(with: ["root.0", "root.1"])
    return !names.contains(Vault.mark) && (hasRoot || names.isSuperset(of: ["data", "meta-a"]))
  }

  private static func haveConfiguration(_ names: Set<String>) -> Bool {
    !names.isDisjoint(with: [Configuration.fileName, Configuration.copyName])
  }

  private func copy(_ name: String) throws(VaultError) -> Copy {
    let page = Buffer(count: Configuration.size)
    do throws(DiskError) {
      let file = try disk.open(name, writable: false)
      guard try file.size() == UInt64(Configuration.size) else { return .damaged }
      var span = page.mutableBytes(in: 0..<page.count)
      guard try file.read(into: &span, at: 0) == page.count else { return .damaged }
    } catch {
      if error.errno == .noSuchFile { return .missing }
      // A medium that can't be read, or something else in the file's place.
      if error.errno == .ioError || error.displaced != nil { return .damaged }
      throw VaultError(error)
    }
    return Self.decode(page)
  }

  private static func decode(_ page: Buffer) -> Copy {
    let checksum = Hash.sha256(page.bytes(in: 0..<Configuration.checksumOffset))
    guard page.equals(checksum, at: Configuration.checksumOffset) else { return .damaged }
    do throws(Configuration.Problem) {
      let configuration = try Configuration(decoding: page)
      // Before any memory is taken: the costs are the frozen ones, or somebody changed them.
      guard configuration.cost == .frozen else { return .damaged }
      return .good(configuration)
    } catch {
      return error == .unsupported ? .unsupported : .damaged
    }
  }

  /// Replaces both copies, one after the other, each whole or not at all.
  func write(_ configuration: Configuration) throws(VaultError) {
    let page = configuration.encoded()
    let checksum = Hash.sha256(page.bytes(in: 0..<Configuration.checksumOffset))
    page.store(checksum, at: Configuration.checksumOffset)
    do {
      try replace(Configuration.fileName, page)
      try replace(Configuration.copyName, page)
    } catch { throw VaultError(error) }
  }

  private func replace(_ name: String, _ page: Buffer) throws(DiskError) {
    let file: any DiskFile
    do throws(DiskError) { file = try disk.create(Configuration.newName) } catch {
      // A killed change left it, or somebody put it there: it is not written to.
      guard error.errno == .exists else { throw error }
      try disk.remove(Configuration.newName)
      file = try disk.create(Configuration.newName)
    }
    try file.write(page.bytes, at: 0)
    try file.sync()
    try disk.rename(Configuration.newName, to: name)
    try disk.syncFolder("")
  }
}

extension PasswordCost {
  /// The only one: RFC 9106's second recommended option.
  static let frozen = PasswordCost(
    version: Argon2Profile.version, memoryKiB: Argon2Profile.memoryKiB,
    passes: Argon2Profile.passes, lanes: Argon2Profile.lanes)
}
