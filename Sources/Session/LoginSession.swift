import Bus
import POSIX

/// The connection to logind, and what it tells of this mount's session.
///
/// Signals count only if their sender owns logind's name: the bus lets anybody send one to anybody.
struct LoginSession: ~Copyable {
  private let bus: Bus
  private let policy: EventPolicy
  /// logind's unique name; nil while it does not run.
  private var owner: String?
  /// The session that this process was started in.
  private var session: String?
  /// Whether this process belongs to somebody who has logged in: one started by the system does not
  /// end with the last session of its user.
  private var isOfLogin = false
  private var isAttached = false
  /// Whether logind did not let this process hold sleep and shutdown back.
  private(set) var isRefused = false
  private let inhibitor: Inhibitor

  static let service = "org.freedesktop.login1"
  static let manager = BusObject(service, "/org/freedesktop/login1", service + ".Manager")
  static let sessionInterface = service + ".Session"
  static let userInterface = service + ".User"
  static let properties = "org.freedesktop.DBus.Properties"
  static let driver = BusObject(
    "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus")

  init(_ bus: consuming Bus, _ policy: EventPolicy, _ inhibitor: Inhibitor) {
    self.bus = bus
    self.policy = policy
    self.inhibitor = inhibitor
  }

  /// Subscribes, and finds out whose session this is, unless that is known.
  mutating func begin(after earlier: String?) throws(Errno) {
    session = earlier
    let fromLogin = "type='signal',sender='\(Self.service)',interface="
    let rules = [
      "type='signal',sender='\(Self.driver.service)',interface='\(Self.driver.interface)',"
        + "member='NameOwnerChanged',arg0='\(Self.service)'",
      fromLogin + "'\(Self.manager.interface)'",
      fromLogin + "'\(Self.sessionInterface)'",
      fromLogin + "'\(Self.properties)',arg0='\(Self.sessionInterface)'",
    ]
    for rule in rules { try bus.call(Self.driver, "AddMatch", [.text(rule)]) }
    do throws(Errno) {
      owner = try bus.call(Self.driver, "GetNameOwner", [.text(Self.service)]).text()
    } catch {
      if error.isOfConnection { throw error }
      owner = nil
    }
    if owner != nil { try attach() }
  }

  /// The session, so that it is known when the connection has to be made anew.
  var known: String? { session }

  /// logind is there, for the first time or again.
  private mutating func attach() throws(Errno) {
    if session != nil {
      isOfLogin = true
    } else if !isAttached {
      try findSession()
    }
    isAttached = true
    try inhibit()
  }

  /// A terminal of a desktop often is no part of the session it was opened in: it runs below its
  /// user's manager. Some desktops leave the session's name in its environment, others, such as
  /// GNOME, do not; then it belongs to the session that logind calls the user's display.
  private mutating func findSession() throws(Errno) {
    let process = BusValue.number(UInt32(System.processNumber))
    session = try unlessManager(find("GetSessionByPID", process))
    if session == nil, let name = System.environment("XDG_SESSION_ID"), !name.isEmpty,
      let found = try unlessManager(find("GetSession", .text(name))),
      try self.user(of: found) == System.userNumber
    {
      session = found
    }
    let user = try find("GetUserByPID", process)
    if session == nil, let user { session = try display(of: user) }
    isOfLogin = session != nil || user != nil
  }

  /// The user's manager has a session of its own (systemd 256 and later), which goes on when the
  /// desktop's ends.
  private func unlessManager(_ session: String?) throws(Errno) -> String? {
    guard let session else { return nil }
    let kind = try name("Class", of: session)
    return kind?.utf8.starts(with: "manager".utf8) == true ? nil : session
  }

  /// The session of a user's desktop; nil if there is none.
  private func display(of user: String) throws(Errno) -> String? {
    let object = BusObject(Self.service, user, Self.properties)
    let arguments: [BusValue] = [.text(Self.userInterface), .text("Display")]
    guard let answer = try ask(object, "Get", arguments), answer.enter(.variant, "(so)"),
      answer.enter(.structure, "so"), answer.text() != nil, let path = answer.path(), path != "/"
    else { return nil }
    return path
  }

  /// Holds sleep and shutdown back, until `inhibitor` is let go.
  private mutating func inhibit() throws(Errno) {
    guard let what = policy.delayed else { return }
    let arguments: [BusValue] = [
      .text(what), .text("Coffre"), .text("writes an open vault to disk and locks it"),
      .text("delay"),
    ]
    var held: Descriptor?
    if let answer = try ask(Self.manager, "Inhibit", arguments) { held = answer.descriptor() }
    isRefused = held == nil
    inhibitor.hold(held.take())
  }

  /// An answer; nil if the call is refused, or not answered in time. Throws if the bus is gone.
  private func ask(
    _ object: BusObject, _ method: String, _ arguments: [BusValue]
  ) throws(Errno) -> BusMessage? {
    do throws(Errno) { return try bus.call(object, method, arguments) } catch {
      if error.isOfConnection { throw error }
      return nil
    }
  }

  /// The path of an object of logind.
  private func find(_ method: String, _ key: BusValue) throws(Errno) -> String? {
    guard let answer = try ask(Self.manager, method, [key]) else { return nil }
    return answer.path()
  }

  private func property(_ name: String, of session: String) -> (BusObject, [BusValue]) {
    let object = BusObject(Self.service, session, Self.properties)
    return (object, [.text(Self.sessionInterface), .text(name)])
  }

  private func user(of session: String) throws(Errno) -> UInt32? {
    let (object, arguments) = property("User", of: session)
    guard let answer = try ask(object, "Get", arguments), answer.enter(.variant, "(uo)"),
      answer.enter(.structure, "uo")
    else { return nil }
    return answer.number()
  }

  private func name(_ property: String, of session: String) throws(Errno) -> String? {
    let (object, arguments) = self.property(property, of: session)
    guard let answer = try ask(object, "Get", arguments), answer.enter(.variant, "s") else {
      return nil
    }
    return answer.text()
  }

  /// Whether a session is over: about to be closed, or unknown to logind.
  private func isOver(_ session: String) throws(Errno) -> Bool {
    let (object, arguments) = property("State", of: session)
    do throws(Errno) {
      let answer = try bus.call(object, "Get", arguments)
      return answer.enter(.variant, "s") && answer.text() == "closing"
    } catch {
      if error.isOfConnection { throw error }
      return error == .noSuchObject
    }
  }

  /// The next event, waited for at most so long; nil also if something else came meanwhile.
  mutating func next(milliseconds: UInt64) throws(Errno) -> SessionEvent? {
    guard let message = try bus.receive(milliseconds: milliseconds) else { return nil }
    return try event(message)
  }

  /// From time to time: what logind refused may be had now, and the session may have ended without
  /// a signal. One whose processes linger, this one among them, is not removed then.
  mutating func look() throws(Errno) -> SessionEvent? {
    guard owner != nil else { return nil }
    if isRefused { try inhibit() }
    guard let session else { return nil }
    return try isOver(session) ? .logout : nil
  }

  private mutating func event(_ message: borrowing BusMessage) throws(Errno) -> SessionEvent? {
    guard let signal = message.signal else { return nil }
    if signal.sender == Self.driver.service, signal.member == "NameOwnerChanged" {
      guard message.text() == Self.service, message.skip("s"), let new = message.text() else {
        return nil
      }
      owner = new.isEmpty ? nil : new
      if owner != nil { try attach() }
      return nil
    }
    guard let owner, signal.sender == owner else { return nil }
    switch (signal.interface, signal.member) {
    case (Self.manager.interface, "PrepareForSleep"):
      return message.flag() == true ? .suspend : nil
    case (Self.manager.interface, "PrepareForShutdown"):
      return message.flag() == true ? .shutdown : nil
    case (Self.manager.interface, "SessionRemoved"):
      guard message.text() != nil, let path = message.path() else { return nil }
      return path == session ? .logout : nil
    case (Self.manager.interface, "UserRemoved"):
      return isOfLogin && message.number() == System.userNumber ? .logout : nil
    case (Self.sessionInterface, "Lock"):
      return try isOurs(signal.path) ? .screenLock : nil
    case (Self.properties, "PropertiesChanged"):
      guard Self.saysLocked(message) else { return nil }
      return try isOurs(signal.path) ? .screenLock : nil
    default: return nil
    }
  }

  /// The session of this process, or another one of its user.
  private func isOurs(_ path: String) throws(Errno) -> Bool {
    if path == session { return true }
    return try user(of: path) == System.userNumber
  }

  /// Whether `LockedHint` has become true.
  private static func saysLocked(_ message: borrowing BusMessage) -> Bool {
    guard message.text() == sessionInterface, message.enter(.array, "{sv}") else { return false }
    while message.enter(.entry, "sv") {
      if message.text() == "LockedHint" {
        return message.enter(.variant, "b") && message.flag() == true
      }
      guard message.skip("v"), message.exit() else { return false }
    }
    return false
  }
}

extension Errno {
  /// Whether a bus is gone, as sd-bus tells it, rather than that it has answered no.
  var isOfConnection: Bool {
    [.notConnected, .reset, .aborted, .brokenPipe, .refused].contains(self)
  }
}
