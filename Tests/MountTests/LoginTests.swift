import Foundation
import POSIX
import Testing

/// What logind tells of the session and the machine locks a vault, as far as it is meant for it.
@Suite(
  .serialized, .enabled(if: Command.canMount, "no /dev/fuse, fusermount3 or built command"),
  .enabled(if: TestBus.canRun, Comment(rawValue: TestBus.missing)))
struct LoginTests {
  /// A vault and a bus, not mounted.
  private func scene(
    known: [String] = ["pid", "user"], session: String = ""
  ) throws -> (Mounted, TestBus) {
    let vault = try Mounted(mounting: false)
    let bus = try TestBus(in: vault.makeFolder("bus"), known: known)
    vault.environment = bus.environment + ["XDG_SESSION_ID=\(session)"]
    return (vault, bus)
  }

  /// Whether it is locked before so many seconds are over.
  private func locks(_ vault: Mounted, within seconds: Int = 10) -> Bool {
    for _ in 0..<(seconds * 20) where vault.isMounted(vault.mount) {
      Clock.sleep(nanoseconds: 50_000_000)
    }
    return !vault.isMounted(vault.mount)
  }

  private func held(_ bus: TestBus) throws -> String {
    try bus.login(["inhibitors"]).trimmingCharacters(in: .whitespacesAndNewlines)
  }

  @Test(arguments: [
    "lock c1", "hint c1", "lock c3", "hint c3", "sleep", "shutdown", "removed c1",
  ])
  func anEventLocks(_ event: String) throws {
    let (vault, bus) = try scene()
    try vault.open()
    try vault.check("echo secret > file")
    let first = try held(bus)
    #expect(first == "sleep:shutdown")
    try bus.login(event.split(separator: " ").map(String.init))
    #expect(locks(vault), "\(event)")
    let last = try held(bus)
    #expect(last.isEmpty, "nothing is held any more")
    try vault.open()
    try vault.check("test $(cat file) = secret")
  }

  @Test func theEndOfTheLastSessionLocks() throws {
    let (vault, bus) = try scene()
    try vault.open()
    try bus.login(["user-removed", String(System.userNumber)])
    #expect(locks(vault))
  }

  /// Processes that linger in a session keep it from being removed.
  @Test func aSessionThatOnlyClosesIsNoticed() throws {
    let (vault, bus) = try scene()
    try vault.open()
    try bus.login(["closing", "c1"])
    #expect(locks(vault, within: 25))
  }

  /// A terminal of a desktop runs below the user's manager, and knows its session by a variable.
  @Test func theSessionMayBeNamedByTheEnvironment() throws {
    let (vault, bus) = try scene(known: ["user"], session: "c1")
    try vault.open()
    try bus.login(["removed", "c3"])
    try bus.login(["removed", "c1"])
    #expect(locks(vault))
  }

  /// GNOME gives the programs below the user's manager no such variable; and from systemd 256 on
  /// the manager has a session of its own, which goes on.
  @Test(arguments: [("", ["user", "display"]), ("m1", ["user", "display", "manager"])])
  func theSessionMayBeTheUsersDisplay(variable: String, known: [String]) throws {
    let (vault, bus) = try scene(known: known, session: variable)
    try vault.open(["--protection", "until-first-unlock"])
    for name in ["m1", "c3"] { try bus.login(["removed", name]) }
    #expect(!locks(vault, within: 2))
    try bus.login(["removed", "c1"])
    #expect(locks(vault))
    // The mount goes before the process does, which then says why.
    let status = try vault.sh(
      """
      for attempt in $(seq 100); do
        if "$COFFRE" status | grep 'the session ended'; then exit 0; fi
        sleep 0.1
      done
      "$COFFRE" status
      exit 1
      """, in: vault.scratch)
    #expect(status.status == 0, "\(status.output)")
  }

  @Test func whatIsMeantForOthersDoesNotLock() throws {
    let (vault, bus) = try scene()
    // Locked before it was mounted: whoever mounts it knows.
    try bus.login(["hint", "c3"])
    try vault.open()
    let events = [
      "lock c2", "hint c2", "removed c2", "removed c3", "user-removed 4242", "woken", "unlock c1",
      "idle-hint c1", "closing c2", "forge",
    ]
    for event in events { try bus.login(event.split(separator: " ").map(String.init)) }
    #expect(!locks(vault, within: 12))
    try vault.check("echo there > file")
    let first = try held(bus)
    #expect(first == "sleep:shutdown")
    try bus.login(["lock", "c1"])
    #expect(locks(vault), "it has gone on to listen")
  }

  /// Root's jobs log in and out all day; a service of the same user lives on.
  @Test func aServiceDoesNotEndWithASession() throws {
    let (vault, bus) = try scene(known: [])
    try vault.open()
    try bus.login(["user-removed", String(System.userNumber)])
    #expect(!locks(vault, within: 2))
    try bus.login(["sleep"])
    #expect(locks(vault))
  }

  /// 64 MiB that only the kernel has, thousands of names, and a program that writes on and on.
  @Test(.timeLimit(.minutes(2))) func sleepIsHeldBackUntilTheVaultIsGone() throws {
    let (vault, bus) = try scene()
    try vault.open()
    try vault.check("seq -f f%g 3000 | xargs touch && ls -l > /dev/null")
    let writer = try vault.sh(
      """
      /usr/bin/python3 '\(Command.checks)/append.py' mount started count &
      for i in $(seq 200); do test -e started && break; sleep 0.1; done
      dd if=/dev/zero of=mount/big bs=1M count=64
      """, in: vault.scratch)
    #expect(writer.status == 0, "\(writer.output)")
    try expectShortSleepDelay(vault, bus)
    try vault.open()
    try vault.check("test $(stat -c %s big) = 67108864")
    let kept = try vault.sh("cat log* | tr -d ' ' | sort -n -u | wc -l").output
    let taken = try vault.sh(
      "for i in $(seq 100); do test -s count && break; sleep 0.1; done; cat count",
      in: vault.scratch
    ).output
    #expect(Int(taken) ?? 0 >= 100)
    #expect(kept == taken + "\n")
  }

  /// Its pages are always ahead of whoever writes them back; another lock serves it for 10 seconds.
  @Test(.timeLimit(.minutes(2))) func aProgramThatWritesAllTheTimeIsStoppedBeforeSleep() throws {
    let (vault, bus) = try scene()
    try vault.open()
    let script = "dd if=/dev/zero of=mount/big bs=64k count=300000 2> dd & sleep 2"
    let writer = try vault.sh(script, in: vault.scratch)
    #expect(writer.status == 0, "\(writer.output)")
    try expectShortSleepDelay(vault, bus)
  }

  /// A lock is under way that would serve such a program for ten seconds: a screen lock, of which
  /// the same thread hears, or a person's.
  @Test(.timeLimit(.minutes(2)), arguments: ["screen", "person"])
  func sleepHurriesALockThatIsUnderWay(first: String) throws {
    let (vault, bus) = try scene()
    try vault.open()
    let lock = first == "person" ? "\"$COFFRE\" lock --force vault > locked 2>&1 &" : ""
    let writer = try vault.sh(
      """
      dd if=/dev/zero of=mount/big bs=64k count=300000 2> dd &
      sleep 2
      \(lock)
      """, in: vault.scratch)
    #expect(writer.status == 0, "\(writer.output)")
    if first == "screen" { try bus.login(["lock", "c1"]) }
    Clock.sleep(nanoseconds: 1_000_000_000)
    #expect(vault.isMounted(vault.mount), "the lock is under way")
    try expectShortSleepDelay(vault, bus)
  }

  /// Lets the machine sleep, which waits until the mount is gone, but not for too long.
  private func expectShortSleepDelay(_ vault: Mounted, _ bus: TestBus) throws {
    let output = try bus.login(["release", vault.mount, "sleep"])
    let pattern = /held for ([0-9.]+) s/
    let match = try #require(try pattern.firstMatch(in: output), "\(output)")
    let seconds = try #require(Double(match.1))
    #expect(seconds < 5, "logind waits for 5 seconds")
    print("login: sleep was held back for \(seconds) s")
  }

  @Test func aBusThatGoesAwayIsFoundAgain() throws {
    let (vault, bus) = try scene()
    try vault.open()
    let daemon = try vault.daemon()
    bus.stop()
    Clock.sleep(nanoseconds: 500_000_000)
    let before = try ticks(daemon)
    try vault.check("echo there > file && cat file")
    Clock.sleep(nanoseconds: 3_000_000_000)
    let spent = try ticks(daemon) - before
    #expect(spent < 30, "of 300 hundredths of a second")
    let status = try vault.coffre(["status"]).output
    #expect(status.contains("the system bus is gone"), "\(status)")
    try bus.start()
    var isHeard = false
    for _ in 0..<300 where !isHeard {
      Clock.sleep(nanoseconds: 100_000_000)
      isHeard = try held(bus) == "sleep:shutdown"
    }
    #expect(isHeard, "it is listened to again")
    let later = try vault.coffre(["status"]).output
    #expect(!later.contains("the system bus"), "\(later)")
    try bus.login(["lock", "c1"])
    #expect(locks(vault))
  }

  /// Its inhibitor has gone with the old one.
  @Test func aLogindThatIsStartedAnewIsHeardAgain() throws {
    let (vault, bus) = try scene()
    try vault.open()
    try bus.restartLogin()
    var isHeld = false
    // The mock has its name before it has its methods, so its first answer may be a refusal.
    for _ in 0..<150 where !isHeld {
      Clock.sleep(nanoseconds: 100_000_000)
      isHeld = try held(bus) == "sleep:shutdown"
    }
    #expect(isHeld)
    try bus.login(["removed", "c1"])
    #expect(locks(vault))
  }

  @Test func aRefusalToHoldSleepBackIsToldOf() throws {
    let (vault, bus) = try scene(known: ["pid", "user", "no-inhibit"])
    try vault.open()
    let status = try vault.coffre(["status"]).output
    #expect(status.contains("logind does not hold sleep and shutdown back"), "\(status)")
    try bus.login(["sleep"])
    #expect(locks(vault), "what it tells is heard all the same")
  }

  /// One that takes connections and says nothing.
  @Test func aBusThatHangsHoldsNothingUp() throws {
    let (vault, bus) = try scene()
    try bus.suspend()
    let start = Clock.monotonic
    try vault.open()
    try vault.check("echo there > file")
    try vault.lock()
    let taken = Clock.monotonic - start
    #expect(taken < 8_000_000_000, "\(taken) ns")
    try vault.open()
    let status = try vault.coffre(["status"]).output
    #expect(status.contains("problem: the system bus does not answer yet"), "\(status)")
    try vault.lock()
    #expect(!vault.isMounted(vault.mount))
  }

  /// It has none, so nothing would lock the vault when the screen is locked: that is said at once.
  @Test func aBusThatCannotBeReachedIsToldOf() throws {
    let vault = try Mounted(mounting: false)
    vault.environment = [
      "DBUS_SYSTEM_BUS_ADDRESS=unix:path=\(vault.scratch)/none", "DBUS_SESSION_BUS_ADDRESS=",
    ]
    let told = "the system bus can't be reached"
    let mounted = try vault.coffre([
      "mount", vault.vault, vault.mount, "--password-file", vault.password,
    ])
    #expect(mounted.status == 0 && mounted.output.contains("warning: " + told), "\(mounted.output)")
    let status = try vault.coffre(["status"]).output
    #expect(status.contains("problem: " + told), "\(status)")
  }

  /// Whoever can speak to a bus can have programs started: the process with the keys can't.
  @Test func theProcessWithTheKeysIsOnNoBus() throws {
    let (vault, bus) = try scene()
    try vault.open()
    let daemon = try vault.daemon()
    let text = try String(contentsOfFile: "/proc/\(daemon)/status", encoding: .utf8)
    let keeper = try #require(try /PPid:\s+(\d+)/.firstMatch(in: text)?.1)
    let clients = try bus.login(["clients"]).split(whereSeparator: \.isWhitespace).map(String.init)
    #expect(clients.contains(String(keeper)), "\(clients)")
    #expect(!clients.contains(String(daemon)), "\(clients)")
    // Nobody else looks into a process that is not dumped.
    if Command.isRoot {
      let bytes = try System.readFile("/proc/\(daemon)/maps", limit: 1 << 22)
      let memory = String(decoding: bytes, as: UTF8.self)
      #expect(memory.contains("libcrypto") && !memory.contains("libsystemd"))
    }
    // Killed, it hears of nothing any more, and says so.
    kill(try #require(Int32(keeper)), SIGKILL)
    var status = ""
    for _ in 0..<100 where !status.contains("problem: the process that mounts has ended") {
      Clock.sleep(nanoseconds: 50_000_000)
      status = try vault.coffre(["status"]).output
    }
    #expect(status.contains("problem: the process that mounts has ended"), "\(status)")
  }

  /// Processor time of a process, in hundredths of a second.
  private func ticks(_ process: Int32) throws -> Int {
    let text = try String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8)
    let fields = text.split(separator: ")").last?.split(separator: " ") ?? []
    try #require(fields.count > 13)
    return (Int(fields[11]) ?? 0) + (Int(fields[12]) ?? 0)
  }

  /// One that logged out while nobody could hear it.
  @Test func aSessionThatEndedMeanwhileIsNoticed() throws {
    let (vault, bus) = try scene()
    try vault.open()
    bus.stop()
    try bus.start()
    // On the new bus there is no logind that knows the session any more, for a moment.
    try bus.login(["closing", "c1"])
    #expect(locks(vault, within: 30))
  }

  @Test func noLibraryIsNeeded() throws {
    let (vault, bus) = try scene()
    // Another library by its name: it lacks all that is looked for.
    let outcome = try vault.sh(
      """
      mkdir lib && cp "$(ldconfig -p | sed -n 's/.*libcrypto.so.3 .*=> //p' | head -n 1)" \
        lib/libsystemd.so.0
      if ldd "$COFFRE" | grep systemd; then exit 1; fi
      LD_LIBRARY_PATH=$PWD/lib "$COFFRE" mount --password-file password vault mount
      """, in: vault.scratch)
    #expect(outcome.status == 0, "\(outcome.output)")
    #expect(outcome.output.contains("warning: libsystemd.so.0"), "\(outcome.output)")
    try vault.check("echo there > file")
    let held = try held(bus)
    #expect(held.isEmpty)
    try bus.login(["lock", "c1"])
    #expect(!locks(vault, within: 1))
    try vault.lock()
    #expect(!vault.isMounted(vault.mount))
  }

  private static let isSoak = ProcessInfo.processInfo.environment["COFFRE_SOAK"] == "1"

  @Test(.enabled(if: isSoak, "two minutes: COFFRE_SOAK=1"))
  func theDesktopIsWarnedBeforeAnIdleLock() throws {
    let (vault, bus) = try scene()
    try vault.open(["--lock-after", "2m"])
    try vault.check("echo there > file")
    let start = Clock.boottime
    var notices = ""
    while !notices.contains("Notify"), Clock.boottime < start + 130_000_000_000 {
      Clock.sleep(nanoseconds: 200_000_000)
      notices = bus.notices
    }
    let seconds = (Clock.boottime - start) / 1_000_000_000
    #expect(notices.contains("\"mount locks itself in 30 seconds\""), "\(notices)")
    #expect((88...97).contains(seconds), "after \(seconds) s")
    try vault.check("cat file")
    for _ in 0..<300 where !notices.contains("CloseNotification") {
      Clock.sleep(nanoseconds: 100_000_000)
      notices = bus.notices
    }
    #expect(notices.contains("CloseNotification"), "somebody uses it")
    #expect(vault.isMounted(vault.mount))
  }

  @Test func theDesktopIsToldWhyItIsLocked() throws {
    let (vault, bus) = try scene()
    try vault.open()
    try vault.check("echo there > name-of-a-file")
    try bus.login(["lock", "c1"])
    #expect(locks(vault))
    var notices = ""
    for _ in 0..<40 where !notices.contains("Notify") {
      Clock.sleep(nanoseconds: 50_000_000)
      notices = bus.notices
    }
    #expect(notices.contains("\"mount is locked\" \"The reason: the screen was locked.\""))
    #expect(!notices.contains("name-of-a-file") && !notices.contains(vault.scratch))
    try vault.open()
    try vault.lock()
    // What came before the next notice is in the log by then.
    try vault.open()
    try bus.login(["lock", "c1"])
    #expect(locks(vault))
    var count = 0
    for _ in 0..<40 where count < 2 {
      Clock.sleep(nanoseconds: 50_000_000)
      count = bus.notices.components(separatedBy: " Notify ").count - 1
    }
    #expect(count == 2, "whoever locks it himself is not told: \(bus.notices)")
    #expect(bus.notices.components(separatedBy: "the screen was locked").count == 3)
  }
}
