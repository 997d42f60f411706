import FuseBridge
package import POSIX

/// The keeper, as the process it works for sees it.
package final class RemoteKeeper: MountHost {
  private let socket: Descriptor

  package init(_ socket: consuming Descriptor) { self.socket = socket }

  package func mount(
    at mountPoint: String, options: String, isGuarded: Bool
  ) throws(Failure) -> KeptMount {
    let request = Message("mount", ["options": options, "guard": isGuarded ? "yes" : "no"])
    var answer: Message?
    var mounted: MountedDevice?
    do throws(Errno) {
      try System.sendPacket(socket, request.line)
      let packet = try System.receivePacket(socket)
      answer = Message(packet: packet.bytes)
      if let connection = packet.intoDescriptor() {
        mounted = MountedDevice(connection, device: answer?["device"] ?? "")
      }
    } catch { throw Failure(error, doing: "the process that mounts") }
    if let failure = answer?.failure { throw failure }
    guard let answer, let mounted else {
      throw Failure(.mountFailed, "the process that mounts has ended")
    }
    return KeptMount(mounted: mounted, notices: (answer["notices"] ?? "").parts(between: "\n"))
  }

  /// By the one thread that looks for the bus: nobody else waits for an answer by then.
  package func connectToBus() throws(Errno) -> Descriptor {
    try System.sendPacket(socket, Message("bus").line)
    let packet = try System.receivePacket(socket)
    guard let connection = packet.intoDescriptor() else { throw .refused }
    return connection
  }

  package func unmount(_ device: String, lazily: Bool) {
    ask(Message("unmount", ["lazily": lazily ? "yes" : "no"]))
  }

  package func abort(_ device: String) { ask(Message("abort")) }
  package func synchronize(_ device: String) { ask(Message("synchronize")) }

  /// Returns when it is done, or the keeper is gone: then the mount is cleared away by whoever
  /// finds it dead.
  private func ask(_ request: Message) {
    guard let pipe = try? Pipe(),
      (try? System.sendPacket(socket, request.line, with: pipe.writing.rawValue)) != nil
    else { return }
    Connection(pipe.intoReading()).waitForEnd()
  }
}
