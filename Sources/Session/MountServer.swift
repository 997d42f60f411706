package import Crypto
import FuseBridge
import POSIX
import Vault

/// Serves one mount in this process, from the password to the wiped keys.
package enum MountServer {
  /// Unlocks, mounts, serves, and returns when the mount is gone. `onReady` gets what a person
  /// should be told; if it answers false, nobody is there to hear it, and the mount goes again.
  ///
  /// The signals are held before anything else, so that no thread ever has one of them unblocked.
  package static func serve(
    _ settings: MountSettings, password: consuming SecretBytes,
    onReady: @escaping @Sendable ([String]) -> Bool
  ) throws(Failure) {
    System.holdSignals()
    let vault = try unlock(settings, password)
    let mount = try ActiveMount(vault, settings)
    let server: ControlServer
    do throws(Failure) {
      server = try ControlServer(mount)
      try watch(mount)
      try server.start()
    } catch {
      mount.discard()
      throw error
    }
    let notices = vault.notices + Warnings.now
    defer {
      server.close()
      server.waitForAnswers()
    }
    try mount.run {
      guard !onReady(notices) else { return }
      _ = try? Thread.start("coffre-lock") { mount.lock() }
    }
    if let failure = mount.failure { throw failure }
  }

  /// Takes the password, so that it is wiped before the vault is served.
  private static func unlock(
    _ settings: MountSettings, _ password: consuming SecretBytes
  ) throws(Failure) -> OpenVault {
    var options = VaultOptions()
    options.readOnly = settings.readOnly
    options.acceptOlder = settings.acceptOlder
    do throws(VaultError) {
      return try Vault(path: settings.vault).open(password: password, options: options)
    } catch { throw Failure(error, vault: settings.vault) }
  }

  /// The threads that lock: one at a signal, one when nobody used the mount for long.
  private static func watch(_ mount: ActiveMount) throws(Failure) {
    do throws(Errno) {
      try Thread.start("coffre-signals") {
        while true {
          _ = System.waitForSignal()
          mount.lock()
        }
      }
      guard let seconds = mount.settings.lockAfter else { return }
      try Thread.start("coffre-idle") { IdleLock.watch(mount, limit: seconds * 1_000_000_000) }
    } catch { throw Failure(error, doing: "starting a thread") }
  }
}

/// Locks a mount that nobody uses.
///
/// A program the kernel serves from its page cache makes no request. So the caches are dropped once
/// in every silence, when half the limit is over: whoever is at work in the second half has to ask
/// again, and is seen.
struct IdleLock {
  enum Step: Hashable {
    case wait(until: UInt64)
    case dropCaches
    case lock
  }

  let limit: UInt64
  /// The silence, by its beginning, in which caches were dropped last, and when that was done.
  private var dropped: (silence: UInt64, at: UInt64)?

  init(limit: UInt64) { self.limit = limit }

  /// What is due at a time, when `last` was the time of the last request.
  func step(at now: UInt64, last: UInt64) -> Step {
    let half = limit / 2
    let end = last + limit
    if let dropped, dropped.silence == last {
      // Dropping writes back first, which may take its time: half the limit is left all the same.
      let due = max(end, dropped.at + half)
      return now < due ? .wait(until: due) : .lock
    }
    // Over without a drop: the machine has slept.
    if now >= end { return .lock }
    return now < last + half ? .wait(until: last + half) : .dropCaches
  }

  mutating func noteDrop(silence: UInt64, at now: UInt64) { dropped = (silence, now) }

  /// Returns once the mount is locked. Time the machine slept counts.
  static func watch(_ mount: ActiveMount, limit: UInt64) {
    var idle = IdleLock(limit: limit)
    while true {
      let last = mount.session.lastActivity
      let now = Clock.boottime
      switch idle.step(at: now, last: last) {
      case .wait(let time):
        // A sleep stands still with the machine, so it is short: at waking the time may be over.
        Clock.sleep(nanoseconds: min(time - now + 1_000_000, 10_000_000_000))
      case .dropCaches:
        mount.session.dropCaches()
        idle.noteDrop(silence: last, at: Clock.boottime)
      case .lock:
        return mount.lock()
      }
    }
  }
}

/// What a person should know of the machine before working in a vault.
enum Warnings {
  static var now: [String] {
    var warnings: [String] = []
    if hasOpenSwap {
      warnings.append("swap is on and not encrypted; contents of open files may reach the disk")
    }
    if !SecretMemory.shared.withLock({ $0.isFullyLocked }) {
      warnings.append("not all memory with keys could be locked; see `ulimit -l`")
    }
    return warnings
  }

  /// A swap area that is neither memory (zram) nor a dm-crypt device.
  private static var hasOpenSwap: Bool {
    guard let bytes = try? System.readFile("/proc/swaps", limit: 1 << 16) else { return false }
    return bytes.split(separator: UInt8(ascii: "\n")).dropFirst().contains { line in
      let path = String(decoding: line.prefix { $0 != UInt8(ascii: " ") && $0 != 9 }, as: UTF8.self)
      return isOpen(path)
    }
  }

  private static func isOpen(_ path: String) -> Bool {
    let real = (try? System.realPath(path)) ?? path
    let name = real.split(separator: "/").last.map { String($0) } ?? ""
    if name.hasPrefix("zram") { return false }
    guard name.hasPrefix("dm-"),
      let uuid = try? System.readFile("/sys/block/\(name)/dm/uuid", limit: 256)
    else { return true }
    return !String(decoding: uuid, as: UTF8.self).hasPrefix("CRYPT-")
  }
}
