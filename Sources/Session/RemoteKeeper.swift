import FuseBridge
package import POSIX

/// The keeper, as the process it works for sees it.
package final class RemoteKeeper: MountHost {
  private struct State {
    /// It has said whether anything is heard, or is gone.
    var isWatching = false
    var problem: String?
  }

  private let line: PacketLine
  private let state = Monitor(State())

  package init(_ socket: consuming Descriptor) { line = PacketLine(socket) }

  package func mount(
    at mountPoint: String, options: String, isGuarded: Bool
  ) throws(Failure) -> KeptMount {
    let request = Message("mount", ["options": options, "guard": isGuarded ? "yes" : "no"])
    var answer: Message?
    var mounted: MountedDevice?
    do throws(Errno) {
      try line.send(request)
      let packet = try line.receive()
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

  package func unmount(_ device: String, lazily: Bool) {
    ask(Message("unmount", ["lazily": lazily ? "yes" : "no"]))
  }

  package func abort(_ device: String) { ask(Message("abort")) }
  package func synchronize(_ device: String) { ask(Message("synchronize")) }

  /// Returns when it is done, or the keeper is gone: then the mount is cleared away by whoever
  /// finds it dead. One that was stopped is waited for without limit.
  private func ask(_ request: Message) {
    guard let pipe = try? Pipe(), (try? line.send(request, with: pipe.writing.rawValue)) != nil
    else { return }
    Connection(pipe.intoReading()).waitForEnd()
  }
}

/// What the keeper hears of the session, and shows on the desktop.
extension RemoteKeeper {
  /// From now on `onEvent` is called for what happens to the session or the machine, as far as the
  /// vault is to be locked for it; it has to return soon. After the mount is made: what comes next
  /// over the socket is for this.
  ///
  /// What keeps anything from being heard is among the `problems` when this returns, as far as that
  /// is known after a second.
  func watch(
    _ policy: EventPolicy, onEvent: @escaping @Sendable (SessionEvent) -> Void
  ) throws(Errno) {
    try line.send(policy.message)
    try Thread.start("coffre-session") { [self] in
      while let packet = try? line.receive(), !packet.bytes.isEmpty {
        guard let message = Message(packet: packet.bytes) else { continue }
        switch message.verb {
        case "watching": state.withLock { $0.isWatching = true }
        case "problem": state.withLock { $0.problem = message["text"] }
        case "event":
          if let cause = LockCause(rawValue: message["cause"] ?? ""),
            let event = SessionEvent(cause)
          {
            onEvent(event)
          }
        default: break
        }
      }
      state.withLock { $0 = State(isWatching: true, problem: Self.end) }
    }
    state.withLock(when: { $0.isWatching }, timeout: 3_000_000_000) { state in
      if !state.isWatching { state.problem = Self.silence }
    }
  }

  private static let end =
    "the process that mounts has ended, so \(LoginWatch.events) is not heard: lock the vault and "
    + "mount it anew"
  private static let silence =
    "the process that mounts does not answer, so \(LoginWatch.events) is not heard"

  package var problems: [String] { state.withLock { $0.problem }.map { [$0] } ?? [] }

  package func show(_ event: DesktopEvent) { try? line.send(event.message) }

  package func release() { try? line.send(Message("release")) }
}
