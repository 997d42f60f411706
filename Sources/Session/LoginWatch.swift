import Bus
import POSIX

/// Listens to logind on a thread of its own, and tells at what a mount has to be locked.
///
/// Whenever the connection is lost it is tried to make another one, calmly. It goes on to listen
/// while the mount is being locked: the machine may be put to sleep in the middle of it.
final class LoginWatch: Sendable {
  private struct State {
    /// The first attempt is over, whether it went well or not.
    var isTried = false
    var problem: String?
  }

  /// Who is told, on the thread that listens.
  struct Listener: Sendable {
    let onEvent: @Sendable (SessionEvent) -> Void
    /// What keeps it from hearing of anything, as a sentence; nil if nothing does any more.
    let onProblem: @Sendable (String?) -> Void
  }

  private let policy: EventPolicy
  private let listener: Listener
  private let connect: @Sendable (String) throws(Errno) -> Bus
  /// Nanoseconds before a lost connection is made anew; doubled each time, up to twelve times that.
  private let pause: UInt64
  /// Nanoseconds for which `start` waits for the bus.
  private let patience: UInt64
  private let state = Monitor(State())
  private let inhibitor = Inhibitor()

  init(
    _ policy: EventPolicy, _ listener: Listener, pause: UInt64 = 5_000_000_000,
    patience: UInt64 = 1_000_000_000,
    connect: @escaping @Sendable (String) throws(Errno) -> Bus = { address throws(Errno) in
      try Bus(address: address)
    }
  ) {
    self.policy = policy
    self.listener = listener
    self.pause = pause
    self.patience = patience
    self.connect = connect
  }

  /// Begins to listen; a bus that does not answer is waited for a second only. What is wrong by
  /// then was told.
  func start(at address: String? = BusAddress.system) throws(Errno) {
    guard let address else { return }
    guard BusLibrary.load() else {
      return tell(
        "\(BusLibrary.name) (package libsystemd0) is not there or too old, so the vault is not "
          + "locked at \(Self.events)")
    }
    try Thread.start("coffre-login") { [self] in listen(address) }
    let isTried = state.withLock(when: { $0.isTried }, timeout: patience) { $0.isTried }
    if !isTried { tell(Self.silence, onlyIfUntried: true) }
  }

  /// Lets the machine sleep or end: the mount is gone.
  func end() { inhibitor.end() }

  static let events = "a screen lock, sleep, shutdown or the end of the session"
  private static let silence = "the system bus does not answer yet, so \(events) is not heard"

  private func listen(_ address: String) {
    var session: String?
    var pause = pause
    var trouble = "can't be reached"
    while true {
      do throws(Errno) {
        var login = LoginSession(try connect(address), policy, inhibitor)
        try hear(&login, &session) {
          pause = self.pause
          trouble = "is gone"
        }
      } catch {
        tell("the system bus \(trouble), so \(Self.events) is not heard; it is looked for again")
      }
      Clock.sleep(nanoseconds: pause)
      pause = min(self.pause * 12, pause * 2)
    }
  }

  /// Listens until the connection is gone.
  private func hear(
    _ login: inout LoginSession, _ session: inout String?, onStart: () -> Void
  ) throws(Errno) {
    try login.begin(after: session)
    onStart()
    var looks = Pace(interval: Self.look)
    while true {
      session = login.known
      tell(login.isRefused ? Self.refusal : nil)
      var found = try login.next(milliseconds: looks.left(at: Clock.boottime) / 1_000_000 + 1)
      if found == nil, looks.isDue(at: Clock.boottime) { found = try login.look() }
      if let found, policy.locks(found) { listener.onEvent(found) }
    }
  }

  /// How often what no signal tells is looked at, in nanoseconds.
  private static let look: UInt64 = 10_000_000_000
  private static let refusal =
    "logind does not hold sleep and shutdown back until the vault is written and locked"

  /// What is told already is not told again.
  private func tell(_ problem: String?, onlyIfUntried: Bool = false) {
    let isNew = state.withLock { state in
      if onlyIfUntried, state.isTried { return false }
      defer { state.problem = problem }
      return state.problem != problem
    }
    if isNew { listener.onProblem(problem) }
    // Only now: whoever waits for the first attempt has heard of it.
    if !onlyIfUntried { state.withLock { $0.isTried = true } }
  }
}

/// When something is to be done again, however often its thread wakes for something else.
struct Pace {
  /// Nanoseconds.
  let interval: UInt64
  private var last: UInt64

  init(interval: UInt64, since start: UInt64 = Clock.boottime) {
    self.interval = interval
    last = start
  }

  /// Nanoseconds until it is due.
  func left(at now: UInt64) -> UInt64 { last + interval - min(last + interval, now) }

  /// Whether it is due; asked for once, and then it begins anew.
  mutating func isDue(at now: UInt64) -> Bool {
    guard left(at: now) == 0 else { return false }
    last = now
    return true
  }
}

/// What keeps the machine from sleep or shutdown, as long as it is held; never again after the end.
final class Inhibitor: Sendable {
  private struct State: ~Copyable {
    var held: Descriptor?
    var isOver = false
  }

  private let state = Lock(State())

  /// In the place of what was held before.
  func hold(_ descriptor: consuming Descriptor?) {
    var new = descriptor
    state.withLock { state in
      if !state.isOver { state.held = new.take() }
    }
  }

  func end() {
    state.withLock { state in
      state.held = nil
      state.isOver = true
    }
  }
}
