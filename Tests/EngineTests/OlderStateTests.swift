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
    let engine = try open(vault, on: held, anchor)
    let pages = try engine.makePages(20)
    try engine.checkpoint()
    let more = try engine.makePages(20, first: 9)
    let gate = held.hold(.write, of: "root.", .before)
    let checkpoint = try Thread.start("checkpoint") { try? engine.checkpoint() }
    #expect(gate.waitUntilReached())
    let older = vault.disk.snapshot()
    gate.open()
    checkpoint.join()

    #expect(throws: EngineError.self) { _ = try open(vault, on: older, anchor.snapshot()) }
    for _ in 0..<2 {
      let accepted = try open(vault, on: older, anchor, acceptOlder: true)
      #expect(try accepted.first(of: pages[0]) == 7)
      #expect(try accepted.first(of: more[19]) == 9)
      try accepted.makePages(1)
      try accepted.close()
    }
  }

  private func open(
    _ vault: borrowing TestVault, on disk: any Disk, _ anchor: SimulatedDisk,
    acceptOlder: Bool = false
  ) throws -> Engine {
    var options = TestVault.options
    options.acceptOlder = acceptOlder
    return try Engine.open(
      on: disk, master: vault.master, vault: TestVault.vault, options: options, anchor: anchor)
  }
}
