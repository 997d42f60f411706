import Glibc

/// The system's clocks, clock_gettime(2).
package enum Clock {
  /// Time of day, as files are stamped with it.
  package static var realtime: (seconds: Int64, nanoseconds: UInt32) {
    let time = read(CLOCK_REALTIME)
    return (Int64(time.tv_sec), UInt32(time.tv_nsec))
  }

  /// The same in nanoseconds since 1970; 0 for a clock that is before that, or far beyond.
  package static var now: UInt64 {
    let time = realtime
    guard (0..<4_600_000_000).contains(time.seconds) else { return 0 }
    return UInt64(time.seconds) * 1_000_000_000 + UInt64(time.nanoseconds)
  }

  /// A time of day as people write it, where this machine is: `2026-11-30 13:45`.
  package static func text(_ seconds: Int64) -> String {
    var time = time_t(seconds)
    var parts = unsafe tm()
    var text = [CChar](repeating: 0, count: 64)
    guard unsafe localtime_r(&time, &parts) != nil,
      case let count = unsafe strftime(&text, text.count, "%Y-%m-%d %H:%M", &parts), count > 0
    else { return "\(seconds) seconds after 1970" }
    return String(decoding: text[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
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
