import Bytes
import Crypto
import Disk
import Format
import TestKit

@testable import Vault

/// What a secret holds; for secrets of tests alone.
func bytes(_ secret: borrowing SecretBytes) -> [UInt8] { array(secret.bytes) }

/// A configuration with one password, its master key, and a disk with both copies and no store.
///
/// A password costs a good part of a second, so tests that need no password share one of these.
struct Configured: Sendable {
  static let password = "the old password"
  static let shared = Configured()

  let configuration: Configuration
  let master: [UInt8]
  private let first: SimulatedDisk

  private init() {
    let key = SecretBytes(random: 32)
    master = bytes(key)
    first = SimulatedDisk()
    guard let made = try? Vault.configuration(for: key, secret(Self.password)),
      (try? ConfigurationFiles(disk: first).write(made)) != nil
    else { preconditionFailure("a first configuration") }
    configuration = made
  }

  var key: SecretBytes { SecretBytes(copying: Buffer(master).bytes) }

  /// A disk of its own.
  var disk: SimulatedDisk { first.snapshot() }

  /// The next generation, for another password.
  func changed(to password: String) throws -> Configuration {
    var next = configuration
    next.generation += 1
    next.slots[0] = try KeySlots.seal(key, password: secret(password), in: next, at: 0)
    next.mac = KeySlots.mac(of: next, key)
    return next
  }
}

/// What unlocking came to, without the master key.
enum Outcome: Hashable {
  case opened(generation: UInt64)
  case failed(VaultError)

  init(_ disk: any Disk, _ password: String, healing: Bool = false) {
    let files = ConfigurationFiles(disk: disk)
    do throws(VaultError) {
      let unlocked =
        healing ? try files.unlockAndHeal(secret(password)) : try files.unlock(secret(password))
      precondition(bytes(unlocked.master) == Configured.shared.master)
      self = .opened(generation: unlocked.configuration.generation)
    } catch { self = .failed(error) }
  }
}

extension Configuration {
  /// The page with its checksum, as anybody can make it.
  var page: [UInt8] {
    let page = encoded()
    let checksum = Hash.sha256(page.bytes(in: 0..<Self.checksumOffset))
    page.store(checksum, at: Self.checksumOffset)
    return page.load(0..<page.count)
  }
}

/// The name of a copy, for tests of each.
let copies = [Configuration.fileName, Configuration.copyName]
