import Glibc

/// The system's clocks, clock_gettime(2).
package enum Clock {
  /// Time of day, as files are stamped with it.
  package static var realtime: (seconds: Int64, nanoseconds: UInt32) {
    let time = read(CLOCK_REALTIME)
    return (Int64(time.tv_sec), UInt32(time.tv_nsec))
  }

  /// Nanoseconds that never go back; stands still while the machine sleeps.
  package static var monotonic: UInt64 { nanoseconds(read(CLOCK_MONOTONIC)) }

  /// Nanoseconds since the machine started, sleep included.
  package static var boottime: UInt64 { nanoseconds(read(CLOCK_BOOTTIME)) }

  package static func sleep(nanoseconds: UInt64) {
    var rest = timespec(
      tv_sec: Int(nanoseconds / 1_000_000_000), tv_nsec: Int(nanoseconds % 1_000_000_000))
    var left = timespec()
    while unsafe nanosleep(&rest, &left) != 0 && errno == EINTR { rest = left }
  }

  private static func read(_ clock: Int32) -> timespec {
    var time = timespec()
    unsafe clock_gettime(clock, &time)
    return time
  }

  private static func nanoseconds(_ time: timespec) -> UInt64 {
    UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
  }
}
