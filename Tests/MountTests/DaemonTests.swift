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
}
