import POSIX
import Volume

/// How far something is, on a terminal at standard error; nothing where that is none.
final class ProgressBar {
  let isShown = System.isTerminal(2)
  private let start = Clock.monotonic
  private var last: UInt64 = 0
  private var isThere = false
  private var copied = ScrubProgress()

  func show(_ progress: ScrubProgress) {
    let now = Clock.monotonic
    guard isShown, now &- last >= 200_000_000 else { return }
    last = now
    isThere = true
    try? System.print(
      "\r\u{1b}[K" + Self.text(progress, nanoseconds: now - start), to: 2)
  }

  /// Adds what was copied.
  func add(_ count: UInt64) {
    copied.done &+= count
    show(copied)
  }

  /// How much there is to copy; nothing is shown as a part of a whole that is not known.
  func expect(_ total: UInt64) { copied.total = total }

  func clear() {
    guard isThere else { return }
    isThere = false
    try? System.print("\r\u{1b}[K", to: 2)
  }

  /// A bar, the part done, the rate and the time that is left; no bar where the end is not known.
  ///
  ///     [##########..........]  50 %  812 MiB/s  0:12 left
  static func text(_ progress: ScrubProgress, nanoseconds: UInt64) -> String {
    let seconds = max(Double(nanoseconds) / 1e9, 0.001)
    let rate = Double(progress.done) / seconds
    let speed = "\(Int(rate / 1_048_576)) MiB/s"
    guard progress.total > 0 else { return "\(progress.done >> 20) MiB  \(speed)" }
    let part = min(1, Double(progress.done) / Double(max(1, progress.total)))
    let full = Int(part * 20)
    let bar = String(repeating: "#", count: full) + String(repeating: ".", count: 20 - full)
    let left =
      rate > 0
      ? Int(min(Double(progress.total - min(progress.done, progress.total)) / rate, 359_999))
      : 359_999
    let clock =
      left >= 3600
      ? "\(left / 3600):\(twoDigits(left / 60 % 60)):\(twoDigits(left % 60))"
      : "\(left / 60):\(twoDigits(left % 60))"
    let percent = String(Int(part * 100))
    return "[\(bar)] \(String(repeating: " ", count: 3 - percent.count))\(percent) %  "
      + "\(speed)  \(clock) left"
  }

  private static func twoDigits(_ number: Int) -> String {
    number < 10 ? "0\(number)" : "\(number)"
  }
}
