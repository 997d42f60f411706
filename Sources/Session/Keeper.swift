import FuseBridge
import POSIX

/// Mounts and unmounts, and speaks to the buses, for one process that has given that up, until it
/// is gone; then clears its mount away, if it has left one. Holds no secret, and does nothing at
/// any other place.
///
///     serving process ── mount, unmount, abort, synchronize ──▶ keeper
///                     ◀── the device, or the end of a pipe ────
///                     ── watch, release, what a desktop may show ──▶
///                     ◀── watching, event, problem ────
package enum Keeper {
  /// The process of a mount that is served in the foreground.
  package static func run(mountPoint: String) -> Never {
    settle()
    serve(Descriptor(owning: Launcher.keeperDescriptor), mountPoint: mountPoint)
    MountTable.detachStale(at: mountPoint)
    System.exit(0)
  }

  /// What a process does first that is to outlive the one it watches. A signal for the group is for
  /// that one: it will end, and this after it.
  static func settle() {
    System.nameThread("coffre-watch")
    System.ignorePipeSignal()
    System.holdSignals()
    try? System.changeDirectory("/")
  }

  /// Returns when the other side is gone.
  static func serve(_ socket: consuming Descriptor, mountPoint: String) {
    let line = PacketLine(socket)
    var device: String?
    var session: SessionWatch?
    while true {
      guard let packet = try? line.receive(), !packet.bytes.isEmpty else { break }
      guard let request = Message(packet: packet.bytes) else { continue }
      var waiting: Connection?
      if let pipe = packet.intoDescriptor() { waiting = Connection(pipe) }
      if session?.perform(request) == true { continue }
      if session == nil, let made = SessionWatch(request, mountPoint: mountPoint, line) {
        session = made
        made.start()
      } else if let device {
        // Each apart: a connection is cut because an unmount hangs.
        let work = { @Sendable [waiting] in
          // Whoever asked is gone, and the device's number may be another mount's by now: so it is
          // where this process was stopped for a while.
          if waiting?.hasEnded != true { perform(request, on: device) }
          // Its end tells that it is done.
          withExtendedLifetime(waiting) {}
        }
        if (try? Thread.start("coffre-keep", work)) == nil { work() }
      } else if request.verb == "mount" {
        device = mount(request, at: mountPoint, line)
      }
    }
  }

  private static func perform(_ request: Message, on device: String) {
    switch request.verb {
    case "unmount": OwnKeeper().unmount(device, lazily: request["lazily"] == "yes")
    case "abort": OwnKeeper().abort(device)
    case "synchronize": OwnKeeper().synchronize(device)
    default: break
    }
  }

  /// Nil if it did not come about.
  private static func mount(
    _ request: Message, at mountPoint: String, _ line: PacketLine
  ) -> String? {
    let kept: KeptMount
    do throws(Failure) {
      kept = try OwnKeeper().mount(
        at: mountPoint, options: request["options"] ?? "", isGuarded: request["guard"] == "yes")
    } catch {
      try? line.send(Message(error))
      return nil
    }
    let answer = Message(
      "mounted",
      ["device": kept.mounted.device, "notices": kept.notices.joined(separator: "\n")])
    // Whoever is gone by now leaves a dead mount, which is cleared away at the end.
    try? line.send(answer, with: kept.mounted.number)
    return kept.mounted.device
  }
}
