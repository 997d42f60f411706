import Foundation
import POSIX
import Testing

/// A message bus of the test's own, and on it whoever plays logind and the desktop.
final class TestBus {
  static let missing = "no dbus-daemon (package dbus), or no package python3-dbusmock"
  static let canRun =
    Command.has("dbus-daemon")
    && FileManager.default.fileExists(atPath: "/usr/lib/python3/dist-packages/dbusmock")

  private let folder: String
  private var daemon: Int32?
  private var actors: [Int32] = []

  var address: String { "unix:path=\(folder)/bus" }
  /// For whoever is to use it.
  var environment: [String] {
    ["DBUS_SYSTEM_BUS_ADDRESS=\(address)", "DBUS_SESSION_BUS_ADDRESS=\(address)"]
  }
  /// What the desktop was asked to show.
  var notices: String { (try? String(contentsOfFile: folder + "/notices", encoding: .utf8)) ?? "" }

  /// `known` is how logind knows the process that mounts: by its `pid`, as a process of a `user`.
  init(in folder: String, known: [String] = ["pid", "user"]) throws {
    self.folder = folder
    let configuration = """
      <!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
       "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
      <busconfig><listen>\(address)</listen><auth>EXTERNAL</auth><policy context="default">
      <allow user="*"/><allow own="*"/><allow send_destination="*"/><allow receive_sender="*"/>
      <allow eavesdrop="false"/></policy></busconfig>
      """
    try configuration.write(toFile: folder + "/bus.conf", atomically: true, encoding: .utf8)
    try start(known: known)
  }

  deinit { stop() }

  func start(known: [String] = ["pid", "user"]) throws {
    let number = try spawn(
      ["dbus-daemon", "--config-file=\(folder)/bus.conf", "--nofork", "--nopidfile"])
    daemon = number
    for _ in 0..<200 where !FileManager.default.fileExists(atPath: folder + "/bus") {
      Clock.sleep(nanoseconds: 25_000_000)
    }
    actors = [
      try startLogin(),
      try spawn([
        "/usr/bin/python3", "-m", "dbusmock", "--session", "--logfile", folder + "/notices",
        "--template", "notification_daemon",
      ]),
    ]
    try login(["setup", String(System.userNumber)] + known)
  }

  /// Ends the bus and all who play on it, by their numbers.
  func stop() {
    for process in actors + [daemon].compactMap({ $0 }) {
      kill(process, SIGKILL)
      _ = try? System.wait(for: process)
    }
    (actors, daemon) = ([], nil)
    try? FileManager.default.removeItem(atPath: folder + "/bus")
  }

  /// Puts another logind into the place of the first, which knows the same sessions.
  func restartLogin() throws {
    kill(actors[0], SIGKILL)
    _ = try? System.wait(for: actors[0])
    actors[0] = try startLogin()
    try login(["setup", String(System.userNumber), "pid", "user"])
  }

  /// The bus answers no more, until it is stopped.
  func suspend() throws { kill(try #require(daemon), SIGSTOP) }

  private func startLogin() throws -> Int32 {
    try spawn(["/usr/bin/python3", "-m", "dbusmock", "--system", "--template", "logind"])
  }

  /// Runs Checks/login.py.
  @discardableResult
  func login(_ words: [String]) throws -> String {
    let log = folder + "/login-" + UUID().uuidString
    let output = try System.open(log, [.readWrite, .create])
    let process = try spawn(
      ["/usr/bin/python3", Command.checks + "/login.py"] + words, output: .number(output.rawValue))
    let end = try System.wait(for: process)
    let text = try String(contentsOfFile: log, encoding: .utf8)
    try #require(end == .exited(0), "\(words): \(text)")
    return text
  }

  private func spawn(
    _ command: [String], output: ChildDescriptor = .null
  ) throws -> Int32 {
    try System.spawn(
      "/usr/bin/env", ["env"] + environment + command, descriptors: [.null, output, output],
      detached: false)
  }
}
