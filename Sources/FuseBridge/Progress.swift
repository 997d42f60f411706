internal import POSIX

/// Something done on a thread of its own, so that it can be waited for with a limit, and left
/// behind.
package final class Step: Sendable {
  private let isDone = Monitor(false)

  /// Where no thread is to be had it is done here and now, without a way to leave it behind.
  package init(_ name: String, _ body: @escaping @Sendable () -> Void) {
    let work = { @Sendable [isDone] in
      body()
      isDone.withLock { $0 = true }
    }
    do throws(Errno) { try Thread.start(name, work) } catch { work() }
  }

  /// False if it is not done within a time; nanoseconds, sleep of the machine not counted.
  package func wait(nanoseconds: UInt64) -> Bool {
    isDone.withLock(when: { $0 }, timeout: nanoseconds) { $0 }
  }
}

/// Whether anything still moves, so that what is slow is told from what hangs.
///
/// What hangs once hangs for whoever waits next, too, so the stillness is counted through: several
/// steps in a row together wait no longer than one.
package final class Progress: Sendable {
  private struct Seen {
    var count: Int
    var since: UInt64
  }

  private let count: @Sendable () -> Int
  private let now: @Sendable () -> UInt64
  private let seen: Lock<Seen>

  /// `count` rises with everything that moves. The clock stands still while the machine sleeps.
  package init(
    now: @escaping @Sendable () -> UInt64 = { Clock.monotonic },
    count: @escaping @Sendable () -> Int
  ) {
    self.count = count
    self.now = now
    seen = Lock(Seen(count: count(), since: now()))
  }

  /// Counts from now on: before, nobody had looked.
  package func restart() {
    let start = Seen(count: count(), since: now())
    seen.withLock { $0 = start }
  }

  /// For how long nothing has moved, as far as it was looked at.
  package var stillness: UInt64 {
    let (count, now) = (count(), now())
    return seen.withLock { seen in
      if seen.count != count { seen = Seen(count: count, since: now) }
      return now - min(now, seen.since)
    }
  }

  /// Waits for something as long as anything moves. False if it was not done once nothing had moved
  /// for `patience`; for `grace` it is waited for at any rate. Nanoseconds.
  package func wait(
    patience: UInt64, grace: UInt64 = 0, until isDone: (_ nanoseconds: UInt64) -> Bool
  ) -> Bool {
    let start = now()
    while !isDone(min(patience / 8, 20_000_000)) {
      if stillness > patience, now() - start > grace { return false }
    }
    return true
  }
}
