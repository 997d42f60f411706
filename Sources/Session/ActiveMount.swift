import Crypto
import Format
import FuseBridge
import POSIX
import Vault
import Volume

/// One mounted vault in the process that serves it, from the mount to the wiped keys.
final class ActiveMount: Sendable {
  let vault: OpenVault
  let session: MountSession
  let settings: MountSettings
  let host: any MountHost
  /// What a person should know of the mount point.
  let notices: [String]
  private let since = Clock.realtime.seconds
  /// When it locks itself even while in use, by the clock that goes on while the machine sleeps.
  let end: UInt64?
  private let folder: String
  private let ending = Monitor(Ending())

  private struct Ending {
    var isClosing = false
    var isClosed = false
    var isOver = false
    /// The vault's disk hangs: the keys are wiped, and threads are left behind.
    var isAbandoned = false
    var failure: VolumeError?
    /// Of several, the first counts.
    var cause: LockCause?
    /// Who asked for it.
    var user = System.userNumber
  }

  /// Mounts; requests wait until `run`.
  init(
    _ vault: OpenVault, _ settings: MountSettings, host: any MountHost = OwnKeeper()
  ) throws(Failure) {
    self.vault = vault
    self.settings = settings
    self.host = host
    end = settings.lockAtMost.map { Clock.boottime + $0 * 1_000_000_000 }
    folder = (try? System.status(at: settings.vault).identity) ?? ""
    var options = MountOptions()
    options.readOnly = settings.readOnly || vault.volume.isReadOnly
    options.allowOther = settings.allowOther
    options.isMarked = settings.isMarked
    options.patience = settings.patience
    options.idleLimit = settings.lockAfter.map { $0 * 1_000_000_000 }
    options.end = end
    options.lowerCalls = { vault.finishedCalls }
    for option in settings.extra {
      switch option {
      case "dev": options.deviceFiles = true
      case "suid": options.setUserID = true
      default: options.extra.append(option)
      }
    }
    do throws(Failure) {
      (session, notices) = try Self.mount(vault.volume, settings, options, host)
    } catch {
      // Nothing was written; what close can't say is told by the next mount.
      vault.audit.record(.locked(.notReady, isLost: false), isClosing: true)
      try? vault.close()
      throw error
    }
  }

  /// Also answers with what a person should know of the mount point.
  private static func mount(
    _ volume: Volume, _ settings: MountSettings, _ options: MountOptions, _ host: any MountHost
  ) throws(Failure) -> (MountSession, [String]) {
    let kept = try host.mount(
      at: settings.mountPoint, options: options.text, isGuarded: settings.isGuarded)
    do throws(MountError) {
      let session = try MountSession(
        volume: volume, mounted: kept.mounted, options: options, keeper: host)
      return (session, kept.notices)
    } catch { throw Failure(error, mountPoint: settings.mountPoint) }
  }

  /// Serves until the mount is gone, whoever takes it away; the vault is closed then. Throws if it
  /// could never be used. Returns also when the end hangs, see `isAbandoned`.
  func run(onReady: @escaping @Sendable () -> Void) throws(Failure) {
    let refusal = Lock<MountError?>(nil)
    _ = Step("coffre-serve") { [self] in
      do throws(MountError) { try session.run(onReady: onReady) } catch {
        let reason = error
        refusal.withLock { $0 = reason }
      }
      closeVault()
      ending.withLock { $0.isOver = true }
    }
    ending.withLock(when: { $0.isOver }, timeout: nil) { _ in }
    if let error = refusal.withLock({ $0 }) {
      ending.withLock { $0.cause = $0.cause ?? .notReady }
      throw Failure(error, mountPoint: settings.mountPoint)
    }
  }

  /// Locks: everything is written, nothing readable stays, the mount goes, keys are wiped. Returns
  /// when all that is done, or the vault's disk hangs and what can be done without it is.
  /// `user` is who asked for it.
  func lock(_ cause: LockCause, by user: UInt32 = System.userNumber) {
    ending.withLock { ending in
      guard ending.cause == nil else { return }
      ending.cause = cause
      ending.user = user
    }
    // If somebody else is at it already, this returns at once, and the end is waited for all the
    // same.
    session.stop(isHurried: cause.isHurried) { [self] in closeVault() }
    if session.isStuck { abandonKeys() }
    ending.withLock(when: { $0.isOver }, timeout: nil) { _ in }
  }

  /// Takes a mount away that was never served.
  func discard() {
    _ = try? Thread.start("coffre-discard") { [self] in lock(.notReady) }
    try? run {}
  }

  /// The vault's disk hangs: nothing more is to be had of the threads that wait for it. The process
  /// has to end now, without waiting for them.
  var isAbandoned: Bool { ending.withLock { $0.isAbandoned } }

  private func abandonKeys() {
    KeyWipe.everything()
    ending.withLock { ending in
      ending.isAbandoned = true
      ending.isClosed = true
      if session.isStuck { ending.isOver = true }
    }
  }

  /// Once, and whoever comes second waits.
  private func closeVault() {
    let isFirst = ending.withLock { ending in
      defer { ending.isClosing = true }
      return !ending.isClosing
    }
    guard isFirst else {
      return ending.withLock(when: { $0.isClosed }, timeout: nil) { _ in }
    }
    let closing = Step("coffre-close") { [self] in
      var failure: VolumeError?
      recordLock()
      do throws(VolumeError) { try vault.close() } catch { failure = error }
      ending.withLock { ending in
        ending.failure = failure
        ending.isClosed = true
      }
    }
    if !session.wait(for: closing) { abandonKeys() }
  }

  /// Before the last root, so that it is in it.
  private func recordLock() {
    let user = ending.withLock { $0.user }
    let isLost = session.isCut || session.writeBackFailure != nil
    vault.audit.record(.locked(cause.audit, isLost: isLost), user: user, isClosing: true)
  }

  /// Why it is gone, once it is.
  var cause: LockCause { ending.withLock { $0.cause } ?? .unmounted }

  /// Why the last write failed, if it did: what the kernel still had, or the vault's own end.
  var failure: Failure? {
    if isAbandoned || session.isCut {
      return Failure(
        .systemError, "the vault's disk did not answer; what was not yet written there is lost")
    }
    let closing = ending.withLock { $0.failure?.errno }
    guard let errno = session.writeBackFailure ?? closing else { return nil }
    return Failure(errno, doing: "the last changes could not all be written")
  }

  /// Nanoseconds since a program last asked for something.
  var idle: UInt64 {
    let last = session.lastActivity
    let now = Clock.boottime
    return now > last ? now - last : 0
  }

  var status: MountStatus {
    let statistics = vault.volume.statistics
    return MountStatus(
      vault: settings.vault, folder: folder, mountPoint: settings.mountPoint,
      identifier: vault.information.identifier, since: since, idle: idle / 1_000_000_000,
      lockAfter: settings.lockAfter, lockAtMost: settings.lockAtMost,
      left: end.map { ($0 - min($0, Clock.boottime)) / 1_000_000_000 },
      protection: settings.protection, device: session.device, readOnly: vault.volume.isReadOnly,
      generation: statistics.generation, healedCopies: statistics.healedCopies,
      unreadablePieces: statistics.unreadablePieces,
      process: System.processNumber, problems: vault.problems + host.problems)
  }
}

extension Failure {
  init(_ error: MountError, mountPoint: String) {
    switch error {
    case .badMountPoint(let errno):
      self.init(.badMountPoint, "\(mountPoint): \(errno.description.lowercased())")
    case .noDevice(let errno):
      self.init(
        .mountFailed, "/dev/fuse: \(errno.description.lowercased())",
        hint: "is the fuse module loaded, and may you open /dev/fuse?")
    case .badOptions:
      self.init(.usage, "an option given by -o is not known to libfuse")
    case .refused(let errno):
      self.init(
        .mountFailed, "the mount was refused: \(errno.description.lowercased())",
        hint:
          "is fusermount3 installed, and is user_allow_other in /etc/fuse.conf for --allow-other?")
    case .notStarted:
      self.init(
        .mountFailed, "the mount ended before it could be used",
        hint: "the kernel and libfuse did not agree; see the options given by -o")
    }
  }
}
