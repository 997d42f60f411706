import CFuse3

internal import Glibc
internal import Synchronization

/// When a person's program last asked for something, and what is open.
final class Activity: Sendable {
  private let last: Atomic<UInt64>
  private let handles = Atomic<Int>(0)
  private let served = Atomic<Int>(0)

  init() { last = Atomic(Self.now) }

  /// Nanoseconds of CLOCK_BOOTTIME, which goes on while the machine sleeps, clock_gettime(2): a
  /// laptop that was shut for an hour has been idle for an hour.
  static var now: UInt64 {
    var time = timespec()
    unsafe clock_gettime(CLOCK_BOOTTIME, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
  }

  var lastRequest: UInt64 { last.load(ordering: .relaxed) }
  /// How many requests were answered, of any kind: a sign that things move.
  var servedRequests: Int { served.load(ordering: .relaxed) }
  var openHandles: Int { handles.load(ordering: .relaxed) }

  func note() { last.store(Self.now, ordering: .relaxed) }
  func answered() { served.wrappingAdd(1, ordering: .relaxed) }
  func opened() { handles.wrappingAdd(1, ordering: .relaxed) }
  func closed() { handles.wrappingSubtract(1, ordering: .relaxed) }
}
