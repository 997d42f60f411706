import POSIX
import Testing

/// What the process that serves a mount keeps of those who ask it.
@Suite(.serialized, .enabled(if: Command.canMount, "no /dev/fuse, fusermount3 or built command"))
struct DaemonTests {
  /// A status bar asks every second, for weeks.
  @Test func askingLeavesNothingBehind() throws {
    let vault = try Mounted()
    let daemon = try vault.daemon()
    func mappings() throws -> Int {
      try System.readFile("/proc/\(daemon)/maps", limit: 1 << 24).count { $0 == 0x0a }
    }
    func ask() throws {
      for _ in 0..<50 { #expect(try vault.coffre(["status"]).status == 0) }
    }
    try ask()
    let before = try mappings()
    try ask()
    // Each question takes two threads, and a thread two mappings.
    #expect(try mappings() < before + 50)
  }

  /// Where a connection can't be accepted, the next one can.
  @Test(.enabled(if: Command.has("prlimit"))) func aShortageOfDescriptorsPasses() throws {
    let vault = try Mounted()
    let (daemon, socket) = (try vault.daemon(), try vault.socket())
    let outcome = try vault.sh(
      """
      count=$(ls /proc/\(daemon)/fd | wc -l)
      prlimit --pid \(daemon) --nofile=$((count + 3)):
      """, in: "/")
    #expect(outcome.status == 0, "\(outcome.output)")
    var idle: [POSIX.Lock<Descriptor>] = []
    for _ in 0..<15 { idle.append(Lock(try System.connect(to: socket, patience: 1000))) }
    Clock.sleep(nanoseconds: 500_000_000)
    idle = []
    Clock.sleep(nanoseconds: 500_000_000)
    #expect(try vault.coffre(["status"]).output.contains(vault.mount))
    try vault.lock()
  }

  /// Nothing is said of a mount only when there is none.
  @Test func aStoppedProcessIsTold() throws {
    let vault = try Mounted()
    let daemon = try vault.daemon()
    let outcome = try vault.sh(
      """
      kill -STOP \(daemon)
      trap 'kill -CONT \(daemon)' EXIT
      for words in status 'status --json' 'info \(vault.vault)' 'lock \(vault.vault)' \
        'lock \(vault.mount)'; do
        if timeout 60 "$COFFRE" $words > out 2>&1; then cat out; exit 1; fi
        grep -q 'process \(daemon) does not answer' out || { cat out; exit 1; }
      done
      mkdir other && "$COFFRE" init other --password-file '\(vault.password)'
      status=0
      timeout 60 "$COFFRE" mount other '\(vault.mount)' --password-file '\(vault.password)' \
        || status=$?
      test $status = 11
      """, in: vault.scratch)
    #expect(outcome.status == 0, "\(outcome.output)")
    #expect(try vault.coffre(["status"]).status == 0)
  }
}
