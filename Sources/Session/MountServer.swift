package import Crypto
import FuseBridge
import POSIX
import Vault
import Volume

/// Serves one mount in this process, from the password to the wiped keys.
package enum MountServer {
  /// Unlocks, mounts, serves, and returns when the mount is gone. `onReady` gets what a person
  /// should be told; if it answers false, nobody is there to hear it, and the mount goes again.
  /// `onDamage` hears of each stored piece that a program asked for and that can't be read, and
  /// `onLocked` at the end why the vault was locked; neither hears a name. Nobody waits for either,
  /// but for a second at the end.
  ///
  /// The signals are held before anything else, so that no thread ever has one of them unblocked;
  /// and no thread is there when the process gives up what it does not need, see `Enclosure`.
  package static func serve(
    _ settings: MountSettings, password: consuming SecretBytes, keeper: RemoteKeeper,
    onDamage: @escaping @Sendable (String) -> Void = { System.log("damage: \($0)") },
    onLocked: @escaping @Sendable (String) -> Void = { System.log($0, isError: false) },
    onReady: @escaping @Sendable ([String]) -> Bool
  ) throws(Failure) {
    System.holdSignals()
    let unconfined = Enclosure.confineFiles(settings)
    let vault = try unlock(settings, password)
    vault.recordUnlock()
    let teller = Teller()
    vault.volume.unreadable.onDamage { damage in teller.tell { onDamage(damage) } }
    let mount = try ActiveMount(vault, settings, host: keeper)
    let server: ControlServer
    do throws(Failure) {
      server = try ControlServer(mount)
      try watch(mount, keeper)
      try server.start()
    } catch {
      mount.discard()
      throw error
    }
    // Whatever needs a socket has it by now.
    let notices =
      vault.notices + mount.notices + Warnings.now + keeper.problems
      + unconfined + Enclosure.refuseCalls()
    defer {
      server.close()
      let cause = mount.cause.sentence
      let problems = vault.audit.problems
      teller.tell {
        onLocked("locked: \(cause)")
        // Of what came last nobody else tells.
        problems.forEach(onLocked)
      }
      teller.finish(nanoseconds: 1_000_000_000)
      server.waitForAnswers()
    }
    try mount.run {
      // A terminal that is held holds this worker for a second only.
      _ = Step("coffre-ready") {
        guard !onReady(notices) else { return vault.forgetFailedAttempts() }
        _ = try? Thread.start("coffre-lock") { mount.lock(.notReady) }
      }.wait(nanoseconds: 1_000_000_000)
    }
    keeper.release()
    let failure = mount.failure
    keeper.show(.locked(mount.cause, isLost: failure != nil))
    if let failure { throw failure }
  }

  /// Takes the password, so that it is wiped before the vault is served.
  private static func unlock(
    _ settings: MountSettings, _ password: consuming SecretBytes
  ) throws(Failure) -> OpenVault {
    var options = VaultOptions()
    options.readOnly = settings.readOnly
    options.acceptOlder = settings.acceptOlder
    options.acceptJournalLoss = settings.acceptJournalLoss
    do throws(VaultError) {
      return try Vault(path: settings.vault).open(password: password, options: options)
    } catch { throw Failure(error, vault: settings.vault) }
  }

  /// The threads that lock: one at a signal, one for each thing that happens to the session (sleep
  /// hurries a lock that is under way), one when nobody used the mount for long, one when its time
  /// is over. The last two are apart: one may wait for the disk, and the other must not.
  private static func watch(_ mount: ActiveMount, _ keeper: RemoteKeeper) throws(Failure) {
    do throws(Errno) {
      try Thread.start("coffre-signals") {
        while true {
          _ = System.waitForSignal()
          mount.lock(.signal)
        }
      }
      try keeper.watch(mount.settings.eventPolicy) { event in
        _ = Step("coffre-lock") { mount.lock(event.cause) }
      }
      if let seconds = mount.settings.lockAfter {
        try Thread.start("coffre-idle") { IdleLock.watch(mount, limit: seconds * 1_000_000_000) }
      }
      guard let end = mount.end else { return }
      try Thread.start("coffre-at-most") {
        while case let now = Clock.boottime, now < end {
          Clock.sleep(nanoseconds: min(end - now, IdleLock.longestSleep))
        }
        mount.lock(.atMost)
      }
    } catch { throw Failure(error, doing: "starting a thread") }
  }
}
