import FuseBridge
import POSIX

/// A keeper's connections to the buses: what it hears of the session and the machine, and what it
/// shows on the desktop.
///
/// Whoever can speak to a bus can have programs started. The process with the keys has none, and
/// libsystemd is not in it: all it gets is one of four words, and a sentence where nothing is
/// heard.
final class SessionWatch: Sendable {
  private let login: LoginWatch
  private let desktop: DesktopNotifier
  private let line: PacketLine

  /// Nil for what is no such request.
  init?(_ request: Message, mountPoint: String, _ line: PacketLine) {
    guard let policy = EventPolicy(request) else { return nil }
    let teller = Teller()
    self.line = line
    desktop = DesktopNotifier(mountPoint: mountPoint)
    login = LoginWatch(
      policy,
      LoginWatch.Listener(
        onEvent: { try? line.send(Message("event", ["cause": $0.cause.rawValue])) },
        onProblem: { problem in
          var message = Message("problem")
          message["text"] = problem
          try? line.send(message)
          if let problem { teller.tell { System.log(problem) } }
        }))
  }

  /// Begins, and says so once it is known whether anything is heard.
  func start() {
    _ = Step("coffre-buses") { [self] in
      desktop.start()
      do throws(Errno) { try login.start() } catch {
        let reason = error.description.lowercased()
        try? line.send(Message("problem", ["text": "\(LoginWatch.events) is not heard: \(reason)"]))
      }
      try? line.send(Message("watching"))
    }
  }

  /// Does what the process it works for asks for; false if that is nothing of this.
  func perform(_ request: Message) -> Bool {
    if request.verb == "release" {
      login.end()
    } else if let event = DesktopEvent(request) {
      desktop.show(event)
    } else {
      return false
    }
    return true
  }
}

/// A socket between a keeper and the process it works for, for any number of threads.
final class PacketLine: Sendable {
  private let socket: Descriptor

  init(_ socket: consuming Descriptor) { self.socket = socket }

  func send(_ message: Message, with descriptor: Int32 = -1) throws(Errno) {
    try System.sendPacket(socket, message.line, with: descriptor)
  }

  /// The next packet; without bytes at the end.
  func receive() throws(Errno) -> Packet { try System.receivePacket(socket) }
}
