import CSystem
import Glibc

/// A mutex that contains the value it guards, so that nobody can touch it unlocked.
///
/// Made of pthread_mutex(3) at a fixed address: ThreadSanitizer understands it. Public, because the
/// compiler inlines across modules, and so specializes, only what is.
@safe
public final class Lock<Value: ~Copyable>: @unchecked Sendable {
  private let mutex: UnsafeMutablePointer<pthread_mutex_t>
  /// Memory of its own: a stored property would be checked for exclusive access at each use, which
  /// the mutex already makes sure of.
  @usableFromInline let value: UnsafeMutablePointer<Value>

  package init(_ value: consuming Value) {
    unsafe mutex = .allocate(capacity: 1)
    unsafe pthread_mutex_init(mutex, nil)
    unsafe self.value = .allocate(capacity: 1)
    unsafe self.value.initialize(to: value)
  }

  deinit {
    unsafe pthread_mutex_destroy(mutex)
    unsafe mutex.deallocate()
    unsafe value.deinitialize(count: 1)
    unsafe value.deallocate()
  }

  /// Lends the value; nobody else has it meanwhile.
  @inlinable
  public func withLock<R: ~Copyable, E: Error>(
    _ body: (inout Value) throws(E) -> R
  ) throws(E) -> R {
    lock()
    defer { unlock() }
    return try unsafe body(&value.pointee)
  }

  @usableFromInline func lock() { unsafe pthread_mutex_lock(mutex) }
  @usableFromInline func unlock() { unsafe pthread_mutex_unlock(mutex) }
}

/// Many readers or one writer; a waiting writer holds new readers back. Not recursive.
@safe
public final class ReadWriteLock: @unchecked Sendable {
  private let lock: UnsafeMutablePointer<pthread_rwlock_t>

  package init() {
    unsafe lock = .allocate(capacity: 1)
    unsafe coffre_rwlock_init(lock)
  }

  deinit {
    unsafe pthread_rwlock_destroy(lock)
    unsafe lock.deallocate()
  }

  /// Runs `body` while no writer is in.
  @inlinable
  public func withRead<R, E: Error>(_ body: () throws(E) -> R) throws(E) -> R {
    lockShared()
    defer { unlock() }
    return try body()
  }

  /// Runs `body` while nobody else is in.
  @inlinable
  public func withWrite<R, E: Error>(_ body: () throws(E) -> R) throws(E) -> R {
    lockExclusive()
    defer { unlock() }
    return try body()
  }

  @usableFromInline func lockShared() { unsafe pthread_rwlock_rdlock(lock) }
  @usableFromInline func lockExclusive() { unsafe pthread_rwlock_wrlock(lock) }
  @usableFromInline func unlock() { unsafe pthread_rwlock_unlock(lock) }
}

/// A lock whose holders can wait until the value is as they need it.
@safe
package final class Monitor<Value>: @unchecked Sendable {
  private let mutex: UnsafeMutablePointer<pthread_mutex_t>
  private let condition: UnsafeMutablePointer<pthread_cond_t>
  private var value: Value

  package init(_ value: consuming Value) {
    unsafe mutex = .allocate(capacity: 1)
    unsafe pthread_mutex_init(mutex, nil)
    unsafe condition = .allocate(capacity: 1)
    unsafe coffre_cond_init(condition)
    self.value = value
  }

  deinit {
    unsafe pthread_cond_destroy(condition)
    unsafe condition.deallocate()
    unsafe pthread_mutex_destroy(mutex)
    unsafe mutex.deallocate()
  }

  /// Runs `body`, then wakes everybody who waits.
  package func withLock<R, E: Error>(_ body: (inout Value) throws(E) -> R) throws(E) -> R {
    try withLock(when: { _ in true }, timeout: nil, body)
  }

  /// Waits until `predicate` holds or `timeout` nanoseconds are over, runs `body` either way, then
  /// wakes everybody who waits.
  package func withLock<R, E: Error>(
    when predicate: (Value) -> Bool, timeout: UInt64?, _ body: (inout Value) throws(E) -> R
  ) throws(E) -> R {
    unsafe pthread_mutex_lock(mutex)
    defer {
      unsafe pthread_cond_broadcast(condition)
      unsafe pthread_mutex_unlock(mutex)
    }
    let deadline = timeout.map { Clock.monotonic &+ $0 }
    while !predicate(value) {
      if let deadline {
        var time = timespec(
          tv_sec: Int(deadline / 1_000_000_000), tv_nsec: Int(deadline % 1_000_000_000))
        if unsafe pthread_cond_timedwait(condition, mutex, &time) == ETIMEDOUT { break }
      } else {
        unsafe pthread_cond_wait(condition, mutex)
      }
    }
    return try body(&value)
  }
}
