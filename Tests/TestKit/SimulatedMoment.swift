import POSIX

/// A disk as it was between two steps, from which power losses at that instant are made.
package struct SimulatedMoment: Sendable {
  /// Steps that were done.
  package let step: Int
  /// What the test had set as the disk's mark.
  package let mark: Int
  let state: SimulatedState

  /// The disk after a power loss at that moment, see `SimulatedDisk.crashed`.
  package func crashed(seed: UInt64, mode: CrashMode) -> SimulatedDisk {
    SimulatedDisk(state.crashed(seed: seed, mode))
  }
}

/// Moments kept for later. It costs little: what two of them have in common is stored once.
struct Recording: Sendable {
  let wants: @Sendable (Int) -> Bool
  var mark = 0
  var moments: [SimulatedMoment] = []
}

extension SimulatedState {
  /// Keeps the state before the next step, if it is wanted.
  mutating func record() {
    guard recording?.wants(steps) == true else { return }
    keepMoment()
  }

  mutating func keepMoment() {
    guard let mark = recording?.mark else { return }
    var copy = self
    copy.recording = nil
    copy.log = nil
    recording?.moments.append(SimulatedMoment(step: steps, mark: mark, state: copy))
  }
}

extension SimulatedDisk {
  /// From now on keeps the moments before those steps that `wants` chooses. It runs inside the
  /// disk's lock and must not call the disk.
  package func record(where wants: @escaping @Sendable (Int) -> Bool) {
    state.withLock { $0.recording = Recording(wants: wants) }
  }

  /// What the moments from now on are marked with.
  package func setMark(_ mark: Int) { state.withLock { $0.recording?.mark = mark } }

  /// Keeps this moment too.
  package func keepMoment() { state.withLock { $0.keepMoment() } }

  /// The moments kept, and an end of keeping them.
  package func takeMoments() -> [SimulatedMoment] {
    state.withLock { state in
      defer { state.recording = nil }
      return state.recording?.moments ?? []
    }
  }
}

extension SimulatedMoment {
  /// The same, with its steps counted from a later one.
  package func counted(from start: Int) -> SimulatedMoment {
    SimulatedMoment(step: step - start, mark: mark, state: state)
  }
}
