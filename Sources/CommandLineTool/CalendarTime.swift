import POSIX
import Session

/// A time of day in UTC, as `2026-11-30T13:45:00Z`, to and from nanoseconds since 1970.
enum CalendarTime {
  private static let second: UInt64 = 1_000_000_000
  private static let day: UInt64 = 86400

  /// `2026-11-30T13:45:09.123456789Z`.
  static func text(_ time: UInt64) -> String {
    let (date, rest) = (time / second).quotientAndRemainder(dividingBy: day)
    let (year, month, dayOfMonth) = Self.date(of: Int(date))
    let clock = [rest / 3600, rest / 60 % 60, rest % 60].map { digits($0, 2) }
    return "\(digits(UInt64(year), 4))-\(digits(UInt64(month), 2))-\(digits(UInt64(dayOfMonth), 2))"
      + "T\(clock.joined(separator: ":")).\(digits(time % second, 9))Z"
  }

  /// The same for people: without fractions.
  static func short(_ time: UInt64) -> String {
    let parts = text(time).split(separator: "T")
    return "\(parts[0]) \(parts[1].prefix(8))"
  }

  /// What `--since` means: so long ago, or from a date on, with or without a time of day.
  static func since(_ text: String, now: UInt64) throws(Failure) -> UInt64 {
    if let time = parse(text) { return time }
    guard text != "never", let seconds = try? Duration.seconds(text) else {
      throw Failure(
        .usage, "\(Output.visible(text)) is neither a duration nor a date",
        hint: "write 90s, 15m, 2h, 1d, 2026-11-30 or 2026-11-30T13:45, in UTC")
    }
    return now - min(now, seconds * second)
  }

  /// Nil for what is no date, and for one before 1970 or after 2099.
  static func parse(_ text: String) -> UInt64? {
    let whole = text.hasSuffix("Z") ? text.dropLast() : text[...]
    let parts = whole.split(separator: "T", omittingEmptySubsequences: false)
    guard parts.count <= 2, let wanted = numbers(parts[0], "-", [4, 2, 2]),
      (1970...2099).contains(wanted[0]), (1...12).contains(wanted[1]),
      case let days = dayNumber(wanted[0], wanted[1], wanted[2]),
      date(of: days) == (wanted[0], wanted[1], wanted[2])
    else { return nil }
    guard parts.count == 2 else {
      return text.hasSuffix("Z") ? nil : UInt64(days) * day * second
    }
    let clock =
      numbers(parts[1], ":", [2, 2]).map { $0 + [0] } ?? numbers(parts[1], ":", [2, 2, 2])
    guard let clock, clock[0] < 24, clock[1] < 60, clock[2] < 60 else { return nil }
    return (UInt64(days) * day + UInt64(clock[0] * 3600 + clock[1] * 60 + clock[2])) * second
  }

  private static func numbers(
    _ text: Substring, _ separator: Character, _ widths: [Int]
  ) -> [Int]? {
    let parts = text.split(separator: separator, omittingEmptySubsequences: false)
    guard parts.map(\.utf8.count) == widths else { return nil }
    let found = parts.compactMap { part in
      part.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        ? Int(part) : nil
    }
    return found.count == widths.count ? found : nil
  }

  private static func digits(_ number: UInt64, _ width: Int) -> String {
    let text = String(number)
    return String(repeating: "0", count: max(0, width - text.count)) + text
  }

  // MARK: - Days since 1970, by the Gregorian calendar; years begin in March, leap days end them.

  private static func dayNumber(_ year: Int, _ month: Int, _ day: Int) -> Int {
    let from = month > 2 ? year : year - 1
    let inYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
    return from * 365 + from / 4 - from / 100 + from / 400 + inYear - 719_468
  }

  private static func date(of days: Int) -> (Int, Int, Int) {
    let shifted = days + 719_468
    let era = shifted / 146_097
    let inEra = shifted % 146_097
    let year = (inEra - inEra / 1460 + inEra / 36524 - inEra / 146_096) / 365
    let inYear = inEra - (365 * year + year / 4 - year / 100)
    let month = (5 * inYear + 2) / 153
    let day = inYear - (153 * month + 2) / 5 + 1
    return (year + era * 400 + (month < 10 ? 0 : 1), month < 10 ? month + 3 : month - 9, day)
  }
}
