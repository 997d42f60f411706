import FuseBridge
import POSIX

/// Locks a mount that nobody uses.
///
/// A program the kernel serves from its page cache makes no request. So the caches are dropped once
/// in every silence, when half the limit is over: whoever is at work in the second half has to ask
/// again, and is seen.
struct IdleLock {
  enum Step: Hashable {
    case wait(until: UInt64)
    case dropCaches
    /// A person is told that it will be locked at a time.
    case warn(until: UInt64)
    case lock
  }

  let limit: UInt64
  /// The silence, by its beginning, in which caches were dropped last, and when that was done.
  private var dropped: (silence: UInt64, at: UInt64)?

  /// The silence in which a person was told.
  private var warned: UInt64?

  init(limit: UInt64) { self.limit = limit }

  /// How long before the lock a person is told; short limits give no time for that.
  private var grace: UInt64 { limit >= 120_000_000_000 ? 30_000_000_000 : 0 }

  /// What is due at a time, when `last` was the time of the last request.
  func step(at now: UInt64, last: UInt64) -> Step {
    let half = limit / 2
    let end = last + limit
    if let dropped, dropped.silence == last {
      let due = due(last, dropped: dropped.at)
      if now >= due { return .lock }
      guard grace > 0, warned != last else { return .wait(until: due) }
      return now < due - grace ? .wait(until: due - grace) : .warn(until: due)
    }
    // Over without a drop: the machine has slept.
    if now >= end { return .lock }
    return now < last + half ? .wait(until: last + half) : .dropCaches
  }

  mutating func noteDrop(silence: UInt64, at now: UInt64) { dropped = (silence, now) }

  mutating func noteWarning(silence: UInt64) { warned = silence }

  /// Whether somebody uses it again after a warning; said once.
  mutating func takesWarningBack(last: UInt64) -> Bool {
    guard let silence = warned, silence != last else { return false }
    warned = nil
    return true
  }

  /// Whoever reads from the caches meanwhile is not heard, so the silence can't end then.
  private mutating func drop(_ mount: ActiveMount, silence: UInt64) {
    mount.session.extend(silence: silence, until: nil)
    let step = FuseBridge.Step("coffre-drop") { mount.session.dropCaches() }
    // One that hangs is left behind: the lock will not wait for it either.
    _ = mount.session.wait(for: step)
    let now = Clock.boottime
    noteDrop(silence: silence, at: now)
    mount.session.extend(silence: silence, until: due(silence, dropped: now))
  }

  /// Dropping writes back first, which may take its time: half the limit is left all the same.
  private func due(_ silence: UInt64, dropped: UInt64) -> UInt64 {
    max(silence + limit, dropped + limit / 2)
  }

  /// A sleep stands still with the machine, so it is short: at waking the time may be over.
  static let longestSleep: UInt64 = 2_000_000_000

  /// Returns once the mount is locked. Time the machine slept counts.
  static func watch(_ mount: ActiveMount, limit: UInt64) {
    var idle = IdleLock(limit: limit)
    while true {
      let last = mount.session.lastActivity
      let now = Clock.boottime
      if idle.takesWarningBack(last: last) { mount.host.show(.isUsed) }
      switch idle.step(at: now, last: last) {
      case .wait(let time):
        mount.session.waitForEndOfSilence(
          nanoseconds: min(time - now + 1_000_000, longestSleep))
      case .warn(let time):
        idle.noteWarning(silence: last)
        mount.host.show(.locksSoon(seconds: (time - now + 500_000_000) / 1_000_000_000))
      case .dropCaches: idle.drop(mount, silence: last)
      case .lock:
        return mount.lock(.idle)
      }
    }
  }
}
