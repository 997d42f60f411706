package import Crypto
import FuseBridge
import POSIX

/// Starts the daemon of a mount, and waits for its verdict.
///
///     coffre mount ──spawns──▶ supervisor (no secret) ──spawns──▶ daemon
///          │                                                        ▲ │
///          ├────────── settings and password, by a pipe ────────────┘ │
///          ◀───────────────── the verdict, by a pipe ─────────────────┘
///
/// The supervisor also is the daemon's `Keeper`, by a socket between the two. A mount in the
/// foreground has one of its own.
///
/// The daemon is a fresh program, not a fork: no thread, lock or secret of this one is in it.
package enum Launcher {
  package static let superviseVerb = "__supervise"
  package static let daemonVerb = "__daemon"
  package static let keepVerb = "__keep"
  /// The descriptors the other two processes find the pipes at.
  static let settingsDescriptor: Int32 = 3
  static let verdictDescriptor: Int32 = 4
  /// Where the daemon finds the socket to its keeper.
  static let hostDescriptor: Int32 = 5
  /// And a keeper of its own the other end.
  static let keeperDescriptor: Int32 = 3

  /// Returns when the mount can be used, with what a person should be told.
  package static func launch(
    _ settings: MountSettings, password: consuming SecretBytes
  ) throws(Failure) -> [String] {
    System.ignorePipeSignal()
    let verdict: Connection
    do throws(Errno) {
      let down = try Pipe()
      let up = try Pipe()
      _ = try spawn(
        superviseVerb, [settings.mountPoint],
        [.null, .null, .null, .number(down.reading.rawValue), .number(up.writing.rawValue)],
        detached: true)
      verdict = Connection(up.intoReading())
      let request = Connection(down.intoWriting())
      try request.send(settings.message(passwordCount: password.count))
      try request.send(password)
    } catch { throw Failure(error, doing: "starting the mount's process") }
    return try wait(for: verdict, settings)
  }

  /// Starts the process that mounts and unmounts for this one.
  package static func startKeeper(mountPoint: String) throws(Failure) -> RemoteKeeper {
    do throws(Errno) {
      let sockets = try System.packetSockets()
      _ = try spawn(
        keepVerb, [mountPoint], [.null, .null, .null, .number(sockets.otherNumber)],
        detached: true)
      return RemoteKeeper(sockets.intoOne())
    } catch { throw Failure(error, doing: "starting the process that mounts") }
  }

  private static func wait(
    for verdict: Connection, _ settings: MountSettings
  ) throws(Failure) -> [String] {
    var notices: [String] = []
    while let message = verdict.receive(patience: nil) {
      switch message.verb {
      case "notice": notices.append(message["text"] ?? "")
      case "ready": return notices
      default:
        guard let failure = message.failure else { continue }
        // The supervisor is the last to go.
        verdict.waitForEnd()
        throw failure
      }
    }
    MountTable.detachStale(at: settings.mountPoint)
    throw Failure(.mountFailed, "the mount's process ended without a word")
  }

  /// This very program once more, also if its file was replaced meanwhile.
  static func spawn(
    _ verb: String, _ arguments: [String], _ descriptors: [ChildDescriptor], detached: Bool
  ) throws(Errno) -> Int32 {
    // Swift's crash handler would write out memory, secrets with it.
    System.setEnvironment("SWIFT_BACKTRACE", "enable=no")
    return try System.spawn(
      "/proc/self/exe", ["coffre", verb] + arguments, descriptors: descriptors,
      detached: detached)
  }
}
