import POSIX

/// The end of all keys of a process that can't wait for its threads to let go of them.
package enum KeyWipe {
  /// Wipes every secret, every context and the pool of IVs, at once, whoever holds them.
  ///
  /// Threads may be at work, and go on: one that wants to seal or open after this waits for ever,
  /// so that nothing is ever sealed under what is left of a key. For a process that is about to
  /// end.
  package static func everything() {
    ThreadContexts.stop()
    SecretMemory.shared.withLock { $0.cleanse() }
    Random.wipePool()
  }
}
