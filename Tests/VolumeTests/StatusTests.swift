import Engine
import POSIX
import TestKit
import Testing

@testable import Volume

/// What `status` tells is to be had at any time.
@Suite struct StatusTests {
  /// `lock` asks for it first, and takes a mount that does not answer for a stopped one.
  @Test(.timeLimit(.minutes(1))) func figuresDoNotWaitForACheckpoint() throws {
    let vault = try HeldVolume()
    _ = try vault.make("file")
    let before = vault.volume.statistics.generation
    let gate = vault.held.hold(.sync, of: "root", .before)
    let engine = vault.volume.engine
    let checkpoint = try Thread.start("checkpoint") { try? engine.checkpoint() }
    #expect(gate.waitUntilReached())
    let seen = Monitor<UInt64?>(nil)
    let volume = vault.volume
    try Thread.start("status") {
      _ = volume.warnings
      let generation = volume.statistics.generation
      seen.withLock { $0 = generation }
    }
    let found = seen.withLock(when: { $0 != nil }, timeout: 5_000_000_000) { $0 }
    gate.open()
    checkpoint.join()
    #expect(found == before)
    let after = vault.volume.statistics.generation
    #expect(after == before + 1)
  }

  @Test func whyNothingIsTakenAnyMoreIsTold() throws {
    let vault = try HeldVolume()
    #expect(vault.volume.statistics.failure == nil)
    vault.volume.engine.turnReadOnly("a sync failed")
    vault.volume.engine.turnReadOnly("another one, too")
    #expect(vault.volume.statistics.failure == "a sync failed")
  }
}
