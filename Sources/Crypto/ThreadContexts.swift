import CSystem
import Glibc
import POSIX

/// A thread's contexts, which stay with it because new ones cost as much as a chunk.
///
/// Those of all threads are listed, so that a key can be wiped from every thread at once, from
/// those that sleep, too. The mutex is that of the thread: only a wipe ever makes it wait.
@safe
final class ThreadContexts: @unchecked Sendable {
  let sealing = CipherContext()
  let opening = CipherContext()
  /// As many as there are keys in use at once: names, the journal's segment, keys of files.
  private let hashes = [HashContext(), HashContext(), HashContext()]
  private var nextHash = 0
  private let mutex: UnsafeMutablePointer<pthread_mutex_t>

  /// Held for moments by threads that start or end, and while keys are wiped. Comes before a
  /// thread's mutex.
  private static let all = Lock(Register())

  private struct Register {
    var contexts: [ThreadContexts] = []
    /// Whoever comes now stops as well.
    var isStopped = false
  }

  private init() {
    // A cache line of its own, so that threads do not slow each other down.
    unsafe mutex = UnsafeMutableRawPointer.allocate(byteCount: 64, alignment: 64)
      .bindMemory(to: pthread_mutex_t.self, capacity: 1)
    unsafe pthread_mutex_init(mutex, nil)
  }

  deinit {
    unsafe pthread_mutex_destroy(mutex)
    unsafe mutex.deallocate()
  }

  /// Lends the calling thread its contexts; nobody wipes them meanwhile.
  @inline(__always)
  static func withCurrent<R>(_ body: (borrowing ThreadContexts) -> R) -> R {
    let slot = unsafe coffre_thread_slot() ?? add()
    // The list keeps it as long as the thread lives.
    return unsafe Unmanaged<ThreadContexts>.fromOpaque(slot)._withUnsafeGuaranteedRef { contexts in
      unsafe pthread_mutex_lock(contexts.mutex)
      defer { unsafe pthread_mutex_unlock(contexts.mutex) }
      return body(contexts)
    }
  }

  @unsafe
  private static func add() -> UnsafeMutableRawPointer {
    let new = ThreadContexts()
    all.withLock { all in
      if all.isStopped { unsafe pthread_mutex_lock(new.mutex) }
      all.contexts.append(new)
    }
    let slot = unsafe Unmanaged.passUnretained(new).toOpaque()
    let failure = unsafe coffre_set_thread_slot(slot) { ended in
      ThreadContexts.all.withLock { all in
        all.contexts.removeAll { unsafe Unmanaged.passUnretained($0).toOpaque() == ended }
      }
    }
    precondition(failure == 0, "a thread has room for its contexts")
    return unsafe slot
  }

  /// Cleanses what every thread has of a key, or of all keys. Waits for a piece that a thread is
  /// about to seal or open.
  static func wipe(_ key: UInt64?) {
    all.withLock { all in
      guard !all.isStopped else { return }
      for contexts in all.contexts { contexts.wipe(key) }
    }
  }

  /// Cleanses what every thread has of all keys, and stops whoever wants to seal or open from now
  /// on: such a thread waits for ever.
  static func stop() {
    all.withLock { all in
      guard !all.isStopped else { return }
      all.isStopped = true
      for contexts in all.contexts {
        // Never unlocked.
        unsafe pthread_mutex_lock(contexts.mutex)
        contexts.wipeAll(nil)
      }
    }
  }

  private func wipe(_ key: UInt64?) {
    // A key that nobody uses any more comes to no context while this looks.
    if let key, !holds(key) { return }
    unsafe pthread_mutex_lock(mutex)
    defer { unsafe pthread_mutex_unlock(mutex) }
    wipeAll(key)
  }

  private func holds(_ key: UInt64) -> Bool {
    sealing.holds(key) || opening.holds(key) || hashes.contains { $0.holds(key) }
  }

  private func wipeAll(_ key: UInt64?) {
    sealing.wipe(key)
    opening.wipe(key)
    for hash in hashes { hash.wipe(key) }
  }

  /// The context that holds a key, or the one whose turn it is to take it.
  func hash(for key: UInt64) -> HashContext {
    if let holder = hashes.first(where: { $0.holds(key) }) { return holder }
    nextHash = (nextHash + 1) % hashes.count
    return hashes[nextHash]
  }
}
