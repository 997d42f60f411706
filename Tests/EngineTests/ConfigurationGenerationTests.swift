import Disk
import POSIX
import TestKit
import Testing

@testable import Engine

/// Root and anchor remember the newest configuration from the first root of a session on.
@Suite struct ConfigurationGenerationTests {
  private func open(
    _ vault: borrowing TestVault, _ disk: SimulatedDisk, anchor: SimulatedDisk, generation: UInt64
  ) throws -> Engine {
    try vault.open(disk, anchor: anchor) { $0.configurationGeneration = generation }
  }

  @Test func anOpeningTellsRootAndAnchorWithOneCheckpoint() throws {
    let vault = try TestVault()
    let anchor = SimulatedDisk()
    let before = vault.disk.snapshot()
    try open(vault, vault.disk, anchor: anchor, generation: 1).close()
    let engine = try open(vault, vault.disk, anchor: anchor, generation: 2)
    let checkpoints = engine.health.withLock { $0.checkpoints }
    #expect(checkpoints == 1)
    // Killed here: the root knows, and the anchor knows by itself.
    let killed = vault.disk.crashed(seed: 1, mode: .dropAll)
    #expect(throws: EngineError.olderConfiguration(presented: 1, known: 2)) {
      _ = try self.open(vault, killed, anchor: SimulatedDisk(), generation: 1)
    }
    // Where all of the store is older, that is what is told.
    #expect {
      _ = try self.open(vault, before, anchor: anchor, generation: 1)
    } throws: { error in
      if case .older = error as? EngineError { true } else { false }
    }
    try open(vault, killed, anchor: anchor, generation: 2).close()
  }
}
