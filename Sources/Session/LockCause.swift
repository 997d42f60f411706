package import Format

/// Why a mount is locked, or is gone.
///
/// The words go into a file and into JSON: they are part of the interface, and never change.
package enum LockCause: String, CaseIterable, Hashable, Sendable {
  /// `coffre lock`.
  case requested
  case signal
  /// No program used it for the time of `--lock-after`.
  case idle
  /// The time of `--lock-at-most` is over.
  case atMost = "at-most"
  case screen
  case suspend
  case sessionEnd = "session-end"
  case shutdown
  /// It could not be started, or whoever mounted it was not there any more to hear that it can be
  /// used.
  case notReady = "not-ready"
  /// Taken away by umount(8) or fusermount3(1).
  case unmounted
  /// The process that served it ended without locking it.
  case killed

  /// What follows "locked: "; no name of a vault or a file is in it.
  package var sentence: String {
    switch self {
    case .requested: "somebody asked for it"
    case .signal: "its process got a signal"
    case .idle: "nobody used it for the time of --lock-after"
    case .atMost: "the time of --lock-at-most was over"
    case .screen: "the screen was locked"
    case .suspend: "the machine was put to sleep"
    case .sessionEnd: "the session ended"
    case .shutdown: "the machine was shut down"
    case .notReady: "it was given up before it could be used"
    case .unmounted: "it was unmounted without coffre"
    case .killed: "its process was killed"
    }
  }
}

extension LockCause {
  /// As the audit log has it.
  package var audit: AuditCause {
    switch self {
    case .requested: .requested
    case .signal: .signal
    case .idle: .idle
    case .atMost: .atMost
    case .screen: .screen
    case .suspend: .suspend
    case .sessionEnd: .sessionEnd
    case .shutdown: .shutdown
    case .notReady: .notReady
    case .unmounted: .unmounted
    case .killed: .killed
    }
  }

  package init(_ cause: AuditCause) {
    self = Self.allCases.first { $0.audit == cause } ?? .killed
  }
}
