import Crypto
import FuseBridge
import POSIX

/// Watches the daemon, mounts and unmounts for it, and clears its mount away if it leaves one, as
/// when it is killed. Holds no secret: the pipe with the password passes by unread.
package enum Supervisor {
  package static func run(mountPoint: String) -> Never {
    Keeper.settle()
    let settings = Descriptor(owning: Launcher.settingsDescriptor)
    let verdict = Connection(Descriptor(owning: Launcher.verdictDescriptor))
    let end: ProcessEnd
    do throws(Errno) {
      let sockets = try System.packetSockets()
      let daemon = try Launcher.spawn(
        Launcher.daemonVerb, [],
        [
          .null, .null, .null, .number(settings.rawValue),
          .number(Launcher.verdictDescriptor), .number(sockets.otherNumber),
        ], detached: false)
      close(settings)
      Keeper.serve(sockets.intoOne(), mountPoint: mountPoint)
      end = try System.wait(for: daemon)
    } catch {
      try? verdict.send(Message(Failure(error, doing: "starting the mount's process")))
      System.exit(ExitCode.mountFailed.rawValue)
    }
    MountTable.detachStale(at: mountPoint)
    guard case .killed(let signal) = end else { System.exit(0) }
    // Heard only if the daemon was killed before its verdict.
    try? verdict.send(
      Message(Failure(.mountFailed, "the mount's process was ended by signal \(signal)")))
    System.exit(ExitCode.mountFailed.rawValue)
  }

  private static func close(_ descriptor: consuming Descriptor) {}
}

/// The process that serves the mount.
package enum Daemon {
  package static func run() -> Never {
    System.holdSignals()
    System.nameThread("coffre")
    try? System.changeDirectory("/")
    let verdict = Connection(Descriptor(owning: Launcher.verdictDescriptor))
    do throws(Failure) {
      try serve(verdict, RemoteKeeper(Descriptor(owning: Launcher.hostDescriptor)))
      System.exit(0)
    } catch {
      try? verdict.send(Message(error))
      System.exit(error.code.rawValue)
    }
  }

  private static func serve(
    _ verdict: Connection, _ keeper: RemoteKeeper
  ) throws(Failure) {
    let request = Connection(Descriptor(owning: Launcher.settingsDescriptor))
    guard let message = request.receive(patience: 60_000), let settings = MountSettings(message),
      let password = request.receiveSecret(message.count("password"), patience: 60_000)
    else { throw Failure(.mountFailed, "the settings did not arrive") }
    try MountServer.serve(settings, password: password, keeper: keeper) { notices in
      do throws(Errno) {
        for text in notices { try verdict.send(Message("notice", ["text": text])) }
        try verdict.send(Message("ready"))
        return true
      } catch { return false }
    }
  }
}
