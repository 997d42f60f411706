import POSIX
import TestKit
import Testing

/// Runs a body in several threads at once and waits for all.
func inThreads(_ count: Int, _ body: @escaping @Sendable (Int) -> Void) throws {
  let threads = try (0..<count).map { (index: Int) throws(Errno) in
    try Thread.start("test") { body(index) }
  }
  for thread in threads { thread.join() }
}

@Suite struct LockTests {
  @Test(.timeLimit(.minutes(1)))
  func aLockLetsOneInAtATime() throws {
    let lock = Lock((count: 0, inside: 0, crowded: false))
    try inThreads(8) { _ in
      for _ in 0..<10000 {
        lock.withLock { value in
          value.inside += 1
          if value.inside != 1 { value.crowded = true }
          value.count += 1
          value.inside -= 1
        }
      }
    }
    let result = lock.withLock { $0 }
    #expect(result.count == 80000)
    #expect(!result.crowded)
  }

  @Test func aLockIsFreeAfterAnError() {
    let lock = Lock(1)
    let error = #expect(throws: Errno.self) {
      try lock.withLock { (value: inout Int) throws(Errno) in
        value = 2
        throw .busy
      }
    }
    #expect(error == .busy)
    #expect(lock.withLock { $0 } == 2)
  }

  /// What is in the lock need not be copyable.
  @Test func aLockHoldsWhatCannotBeCopied() {
    struct Single: ~Copyable { var value = 1 }
    let lock = Lock(Single())
    lock.withLock { $0.value += 1 }
    #expect(lock.withLock { $0.value } == 2)
  }
}

@Suite struct ReadWriteLockTests {
  @Test(.timeLimit(.minutes(1)))
  func readersMeetInside() throws {
    let lock = ReadWriteLock()
    let inside = Monitor(0)
    let met = Lock(0)
    try inThreads(3) { _ in
      lock.withRead {
        inside.withLock { $0 += 1 }
        // Each waits inside for the others: it can only end if they are let in together.
        inside.withLock(when: { $0 == 3 }, timeout: 20_000_000_000) { count in
          if count == 3 { met.withLock { $0 += 1 } }
        }
      }
    }
    #expect(met.withLock { $0 } == 3)
  }

  @Test(.timeLimit(.minutes(1)))
  func aWriterIsAlone() throws {
    let lock = ReadWriteLock()
    let inside = Lock((readers: 0, writers: 0, crowded: false))
    try inThreads(6) { index in
      for _ in 0..<2000 {
        if index < 2 {
          lock.withWrite {
            inside.withLock {
              $0.writers += 1
              if $0.writers != 1 || $0.readers != 0 { $0.crowded = true }
            }
            inside.withLock { $0.writers -= 1 }
          }
        } else {
          lock.withRead {
            inside.withLock {
              $0.readers += 1
              if $0.writers != 0 { $0.crowded = true }
            }
            inside.withLock { $0.readers -= 1 }
          }
        }
      }
    }
    #expect(!inside.withLock { $0.crowded })
  }

  /// Readers that never stop coming must not keep a writer out for ever.
  @Test(.timeLimit(.minutes(1)))
  func aWriterGetsItsTurn() throws {
    let lock = ReadWriteLock()
    let done = Lock(false)
    try inThreads(5) { index in
      if index == 0 {
        Clock.sleep(nanoseconds: 20_000_000)
        lock.withWrite { done.withLock { $0 = true } }
      } else {
        while !done.withLock({ $0 }) { lock.withRead { Clock.sleep(nanoseconds: 1_000_000) } }
      }
    }
    #expect(done.withLock { $0 })
  }

  @Test func aLockIsFreeAfterAnError() {
    let lock = ReadWriteLock()
    #expect(throws: Errno.busy) { try lock.withRead { () throws(Errno) in throw .busy } }
    #expect(throws: Errno.busy) { try lock.withWrite { () throws(Errno) in throw .busy } }
    #expect(lock.withWrite { 1 } == 1)
  }
}

@Suite struct MonitorTests {
  @Test(.timeLimit(.minutes(1)))
  func aTimeoutEndsTheWait() {
    let monitor = Monitor(1)
    let start = Clock.monotonic
    let value = monitor.withLock(when: { $0 == 2 }, timeout: 50_000_000) { $0 }
    let waited = Clock.monotonic - start
    #expect(value == 1, "the body runs all the same")
    #expect(waited >= 50_000_000)
    #expect(waited < 20_000_000_000)
  }

  @Test(.timeLimit(.minutes(1)))
  func noTimeIsWastedWhenAllIsWell() {
    let monitor = Monitor(2)
    let start = Clock.monotonic
    #expect(monitor.withLock(when: { $0 == 2 }, timeout: 30_000_000_000) { $0 } == 2)
    #expect(Clock.monotonic - start < 10_000_000_000)
  }

  @Test(.timeLimit(.minutes(1)))
  func aChangeWakesWhoWaits() throws {
    let monitor = Monitor(0)
    try inThreads(4) { index in
      // In a ring: each waits for its turn, and passes it on.
      for round in 0..<100 {
        monitor.withLock(when: { $0 == round * 4 + index }, timeout: nil) { $0 += 1 }
      }
    }
    #expect(monitor.withLock { $0 } == 400)
  }
}
