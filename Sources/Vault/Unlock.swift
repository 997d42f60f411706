import Crypto
import Format

/// What a password gave: the master key, and the configuration it vouches for.
struct Unlocked: ~Copyable {
  let master: SecretBytes
  let configuration: Configuration
  let slot: Int
  /// The copies are not both this configuration.
  let unequal: Bool
}

extension ConfigurationFiles {
  /// Opens the newest copy that is true.
  ///
  /// A password no slot of the newest knows may still open the older copy. Then the master key
  /// tells whether the newest is genuine: if so, the password is an old one, and wrong; if not, it
  /// was tampered with, and the older copy is the true one.
  func unlock(_ password: borrowing SecretBytes) throws(VaultError) -> Unlocked {
    let found = try read()
    var isDamaged = false
    for (index, configuration) in found.copies.enumerated() {
      let attempt = try KeySlots.attempt(configuration, password)
      isDamaged = isDamaged || attempt.matched
      let slot = attempt.slot
      guard let master = attempt.intoMaster(),
        KeySlots.isAuthentic(configuration, master)
      else { continue }
      if index > 0, KeySlots.isAuthentic(found.copies[0], master) { throw .wrongPassword }
      return Unlocked(
        master: master, configuration: configuration, slot: slot, unequal: found.unequal)
    }
    throw isDamaged ? .damagedConfiguration : .wrongPassword
  }

  /// Unlocks, and makes the copies equal. The vault's lock is held by the caller, exclusively.
  func unlockAndHeal(_ password: borrowing SecretBytes) throws(VaultError) -> Unlocked {
    let unlocked = try unlock(password)
    if unlocked.unequal {
      do throws(VaultError) { try write(unlocked.configuration) } catch {
        // A full disk stops no mount; one copy is true, and the next unlock tries again.
        guard error == .noSpace else { throw error }
      }
    }
    return unlocked
  }

  /// Puts a new password in the place of an old one; returns the new generation. `changed` hears of
  /// it, and of the slot, as soon as the new one holds, whatever fails after that.
  ///
  /// The old configuration is whole until the new one is: a kill at any instant leaves one of them.
  func changePassword(
    old: borrowing SecretBytes, new: borrowing SecretBytes,
    changed: (_ generation: UInt64, _ slot: Int) -> Void = { _, _ in }
  ) throws(VaultError) -> UInt64 {
    let unlocked = try unlock(old)
    var configuration = unlocked.configuration
    configuration.generation += 1
    configuration.slots[unlocked.slot] = try KeySlots.seal(
      unlocked.master, password: new, in: configuration, at: unlocked.slot)
    configuration.mac = KeySlots.mac(of: configuration, unlocked.master)
    do throws(VaultError) { try write(configuration) } catch {
      // The newest copy counts.
      let found = try? read()
      guard found?.copies.first == configuration else { throw error }
      changed(configuration.generation, unlocked.slot)
      throw .passwordChanged(but: error)
    }
    changed(configuration.generation, unlocked.slot)
    return configuration.generation
  }
}

extension KeySlots.Attempt {
  consuming func intoMaster() -> SecretBytes? { master }
}
