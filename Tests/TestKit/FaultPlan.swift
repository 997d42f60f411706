import POSIX

/// Which call on a simulated disk fails, with what, and for how long.
package final class FaultPlan: Sendable {
  package enum Kind: String, Sendable, CaseIterable {
    case ioError, noSpace, overQuota
    /// A read returns half of what is there.
    case shortRead

    /// Whether a call can meet with it: nothing runs out of space by being looked at.
    package func canFail(_ kind: SimulatedCall.Kind) -> Bool {
      switch self {
      case .ioError: true
      case .noSpace, .overQuota: kind.isStep && kind != .remove
      case .shortRead: kind == .read
      }
    }

    var errno: Errno {
      switch self {
      case .ioError: .ioError
      case .noSpace: .noSpace
      case .overQuota: .overQuota
      case .shortRead: SimulatedDisk.short
      }
    }
  }

  private struct State {
    var seen = 0
    var failed: SimulatedCall?
    var isHealed = false
  }

  private let kind: Kind
  private let point: Int
  package let lasts: Bool
  private let state = Lock(State())

  /// Fails the call of this number among those that can meet with the fault; `lasts`: every one
  /// after it too, until `heal`.
  package init(_ kind: Kind, at point: Int, lasts: Bool) {
    self.kind = kind
    self.point = point
    self.lasts = lasts
  }

  /// To be set as the disk's fault.
  package var hook: SimulatedFault {
    { [self] call in
      guard kind.canFail(call.kind) else { return nil }
      return state.withLock { state in
        defer { state.seen += 1 }
        guard !state.isHealed, lasts ? state.seen >= point : state.seen == point else {
          return nil
        }
        state.failed = state.failed ?? call
        return kind.errno
      }
    }
  }

  /// The cause is gone.
  package func heal() { state.withLock { $0.isHealed = true } }

  /// The first call that failed.
  package var failed: SimulatedCall? { state.withLock { $0.failed } }
  /// Calls so far that could have failed.
  package var seen: Int { state.withLock { $0.seen } }
}
