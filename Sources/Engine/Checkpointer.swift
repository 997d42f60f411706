import POSIX

/// What the checkpoint thread waits for.
struct CheckpointRequest: Sendable {
  var wanted = false
  var started = false
  var stopping = false
  var stopped = false
}

extension Engine {
  /// Asks for a checkpoint soon, without waiting.
  package func requestCheckpoint() {
    requests.withLock { $0.wanted = true }
  }

  /// Starts the thread that makes checkpoints on request, and every 30 s while there is something
  /// to do.
  package func startCheckpointer() throws(EngineError) {
    do { try Thread.start("coffre-root") { [self] in checkpointLoop() } } catch {
      throw .posix(error)
    }
    requests.withLock { $0.started = true }
  }

  private func checkpointLoop() {
    while true {
      let stop = requests.withLock(
        when: { $0.wanted || $0.stopping }, timeout: 30_000_000_000
      ) { state in
        state.wanted = false
        return state.stopping
      }
      if stop { break }
      if store.dirtyCount > 0 { try? checkpoint() }
    }
    requests.withLock { $0.stopped = true }
  }

  package func stopCheckpointer() {
    requests.withLock { $0.stopping = true }
    requests.withLock(when: { $0.stopped || !$0.started }, timeout: nil) { _ in }
  }
}
