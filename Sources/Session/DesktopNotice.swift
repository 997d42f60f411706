import POSIX

/// What a person is told on the desktop: a title, and a sentence that has no name in it.
///
/// The title may have the mount point's last component, which every user of the machine can read in
/// /proc/mounts anyway. It is shown as it is; the sentence could be taken for markup.
struct DesktopNotice: Hashable, Sendable {
  let title: String
  let text: String

  /// An idle lock is about to come.
  init(mountPoint: String, locksIn seconds: UInt64) {
    title = "\(Self.name(mountPoint)) locks itself in \(seconds) seconds"
    text = "No program uses it. Whoever works in it now keeps it open."
  }

  /// Nil if nobody has to be told: who asked for the lock knows of it, and after the session nobody
  /// sits there. What could not be written is told in any case.
  init?(mountPoint: String, locked cause: LockCause, isLost: Bool) {
    guard isLost || Self.isTold(cause) else { return nil }
    title = "\(Self.name(mountPoint)) is locked"
    let lost = isLost ? " The last changes could not all be written." : ""
    text = "The reason: \(cause.sentence)." + lost
  }

  private static func isTold(_ cause: LockCause) -> Bool {
    switch cause {
    case .idle, .atMost, .screen, .suspend: true
    default: false
    }
  }

  /// The last component, short and without anything that is no visible character.
  private static func name(_ mountPoint: String) -> String {
    var name = ""
    let last = mountPoint.parts(between: "/").last { !$0.isEmpty } ?? ""
    for scalar in last.unicodeScalars {
      guard name.unicodeScalars.count < 64 else { break }
      switch scalar.properties.generalCategory {
      case .control, .format, .lineSeparator, .paragraphSeparator, .unassigned, .privateUse: break
      default: name.unicodeScalars.append(scalar)
      }
    }
    return name.isEmpty ? "The vault" : name
  }
}
