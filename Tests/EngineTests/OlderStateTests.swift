import Crypto
import Disk
import POSIX
import TestKit
import Testing

@testable import Engine

/// A store that is older than what this machine has seen, taken as the true one on purpose.
@Suite struct OlderStateTests {
  /// A copy made between the frame that tells what a root will free and that root: what is freed is
  /// named by the root that is there.
  @Test func acceptingItWipesNothingThatItNames() throws {
    let vault = try TestVault()
    let anchor = SimulatedDisk()
    let held = HeldDisk(vault.disk)
    let engine = try vault.open(held, anchor: anchor)
    let pages = try engine.makePages(20)
    try engine.checkpoint()
    let more = try engine.makePages(20, first: 9)
    let gate = held.hold(.write, of: "root.", .before)
    let checkpoint = try Thread.start("checkpoint") { try? engine.checkpoint() }
    #expect(gate.waitUntilReached())
    let older = vault.disk.snapshot()
    gate.open()
    checkpoint.join()

    #expect(throws: EngineError.self) { _ = try vault.open(older, anchor: anchor.snapshot()) }
    for _ in 0..<2 {
      let accepted = try vault.open(older, anchor: anchor) { $0.acceptOlder = true }
      #expect(try accepted.first(of: pages[0]) == 7)
      #expect(try accepted.first(of: more[19]) == 9)
      try accepted.makePages(1)
      try accepted.close()
    }
  }

  /// Where one machine has accepted an older state, another one that knew what was discarded tells.
  @Test func anotherMachineNoticesWhatWasDiscarded() throws {
    let vault = try TestVault()
    let here = SimulatedDisk()
    let first = try vault.open(anchor: here)
    try first.makePages(1)
    try first.checkpoint()
    let older = vault.disk.snapshot()
    for _ in 0..<5 { try first.checkpoint() }
    try first.close()
    // What another machine that has seen as much remembers.
    let there = here.snapshot()

    let accepted = try vault.open(older, anchor: here) { $0.acceptOlder = true }
    try accepted.makePages(1)
    try accepted.close()
    try vault.open(older, anchor: here).close()
    #expect(throws: EngineError.self) { _ = try vault.open(older, anchor: there) }
  }
}
