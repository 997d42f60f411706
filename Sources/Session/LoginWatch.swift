import Bus
import POSIX

/// Listens to logind on a thread of its own, and locks a mount when it has to be.
///
/// Whenever the connection is lost it is tried to make another one, calmly; where that is refused,
/// it is told, and all else goes on.
final class LoginWatch: Sendable {
  private struct State {
    /// The first attempt is over, whether it went well or not.
    var isTried = false
    var problem: String?
  }

  private let policy: EventPolicy
  private let connect: @Sendable (String) throws(Errno) -> Bus
  /// Nanoseconds before a lost connection is made anew; doubled each time, up to twelve times that.
  private let pause: UInt64
  private let state = Monitor(State())
  private let inhibitor = Lock<Descriptor?>(nil)

  init(
    _ policy: EventPolicy, pause: UInt64 = 5_000_000_000,
    connect: @escaping @Sendable (String) throws(Errno) -> Bus = { address throws(Errno) in
      try Bus(address: address)
    }
  ) {
    self.policy = policy
    self.pause = pause
    self.connect = connect
  }

  /// What keeps it from hearing of anything, as sentences.
  var problems: [String] { state.withLock { $0.problem }.map { [$0] } ?? [] }

  /// Begins to listen; a bus that does not answer is waited for a second only. `lock` returns when
  /// the mount is gone, and is called once.
  func start(
    at address: String? = BusAddress.system, lock: @escaping @Sendable (SessionEvent) -> Void
  ) throws(Errno) {
    guard let address else { return }
    guard BusLibrary.load() else {
      return tell(
        "\(BusLibrary.name) (package libsystemd0) is not there or too old, so the vault is not "
          + "locked at \(Self.events)")
    }
    let first = Lock<Bus?>(try? connect(address))
    try Thread.start("coffre-login") { [self] in
      listen(address, first.withLock { $0.take() }, lock)
    }
    state.withLock(when: { $0.isTried }, timeout: 1_000_000_000) { _ in }
  }

  /// Lets the machine sleep or end: the mount is gone.
  func end() { inhibitor.withLock { $0 = nil } }

  private static let events = "a screen lock, sleep, shutdown or the end of the session"

  private func listen(
    _ address: String, _ first: consuming Bus?, _ lock: (SessionEvent) -> Void
  ) {
    var bus = first
    var session: String?
    var pause = pause
    while true {
      if let live = bus.take() {
        var login = LoginSession(live, policy, inhibitor: inhibitor)
        do throws(Errno) {
          let event = try hear(&login, &session) { pause = self.pause }
          lock(event)
          return end()
        } catch {
          tell("the system bus is gone, so \(Self.events) is not heard; it is looked for again")
        }
      }
      state.withLock { $0.isTried = true }
      Clock.sleep(nanoseconds: pause)
      pause = min(self.pause * 12, pause * 2)
      do throws(Errno) { bus = try connect(address) } catch {
        guard error == .notPermitted || error == .accessDenied else { continue }
        return tell(
          "the system bus is gone and can't be reached again, so the vault is not locked at "
            + "\(Self.events): lock it and mount it anew")
      }
    }
  }

  /// Listens until something happens at which the mount is to be locked.
  private func hear(
    _ login: inout LoginSession, _ session: inout String?, onStart: () -> Void
  ) throws(Errno) -> SessionEvent {
    try login.begin(after: session)
    onStart()
    var lastLook = Clock.boottime
    while true {
      session = login.known
      tell(login.isRefused ? Self.refusal : nil)
      var found = try login.next(milliseconds: Self.look)
      if found == nil, Clock.boottime >= lastLook + Self.look * 1_000_000 {
        lastLook = Clock.boottime
        found = try login.look()
      }
      if let found, policy.locks(found) { return found }
    }
  }

  /// How often what no signal tells is looked at, in milliseconds.
  private static let look: UInt64 = 10_000
  private static let refusal =
    "logind does not hold sleep and shutdown back until the vault is written and locked"

  /// What is told already is not logged again.
  private func tell(_ problem: String?) {
    let isNew = state.withLock { state in
      state.isTried = true
      defer { state.problem = problem }
      return state.problem != problem
    }
    if isNew, let problem { System.log(problem) }
  }
}
