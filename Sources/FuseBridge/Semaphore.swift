internal import Glibc

/// A counting semaphore, sem_init(3).
@safe
final class Semaphore: @unchecked Sendable {
  private let semaphore: UnsafeMutablePointer<sem_t>

  init() {
    unsafe semaphore = .allocate(capacity: 1)
    unsafe sem_init(semaphore, 0, 0)
  }

  deinit {
    unsafe sem_destroy(semaphore)
    unsafe semaphore.deallocate()
  }

  func signal() { unsafe sem_post(semaphore) }

  func wait() {
    while unsafe sem_wait(semaphore) != 0 {}
  }

  /// Waits for at most some seconds of CLOCK_BOOTTIME; false if they passed.
  ///
  /// Looks every 2 ms, since sem_timedwait(3) counts on a clock that people set.
  func wait(seconds: Double) -> Bool {
    let end = Activity.now + UInt64(seconds * 1e9)
    while unsafe sem_trywait(semaphore) != 0 {
      if Activity.now > end { return false }
      usleep(2000)
    }
    return true
  }
}
