import Crypto
import Disk
import Format
import POSIX
import TestKit
import Testing

@testable import Engine

/// Room is counted as it is (invariant I8): what is accepted, a checkpoint can write.
@Suite struct CreditTests {
  /// All of them see the room before any has used it.
  @Test func manyThreadsDoNotPassWithTheRoomOfOne() throws {
    let vault = try TestVault()
    let engine = try vault.open()
    vault.disk.capacity = vault.disk.used
    let threads = try engine.writer.withLock { _ in
      let threads = try (0..<8).map { _ in
        try Aside {
          _ = try? engine.transact(frees: true, pages: 400) { (transaction) throws(EngineError) in
            for _ in 0..<400 { try transaction.allocatePage().page.store(UInt64(7), at: 0) }
          }
        }
      }
      // They come as far as the writer.
      Clock.sleep(nanoseconds: 300_000_000)
      return threads
    }
    for thread in threads { try thread.finish() }
    #expect(try engine.first(of: 1) == 7)
    try engine.checkpoint()
    try engine.close()
    let again = try vault.open()
    #expect(try again.first(of: 1) == 7)
    try again.close()
  }

  /// While a checkpoint wipes what it has freed, which takes long, its pages count as clean, and
  /// what they have taken counts.
  @Test func aCheckpointCountsWhatItTookBeforeItWipes() throws {
    let vault = try TestVault()
    let engine = try vault.open()
    try engine.makePages(300)
    let seen = Lock<(roots: Int, free: [UInt64])>((0, []))
    vault.disk.fault = { call in
      guard call.kind == .write else { return nil }
      let isLate = seen.withLock { seen in
        if call.object.hasPrefix("root.") { seen.roots += 1 }
        return seen.roots == 2
      }
      if isLate && call.object.hasPrefix("meta-") {
        let free = engine.metaFree
        seen.withLock { $0.free.append(free) }
      }
      return nil
    }
    try engine.checkpoint()
    vault.disk.fault = nil
    let after = engine.metaFree
    let free = seen.withLock { $0.free }
    #expect(!free.isEmpty && free.allSatisfy { $0 <= after }, "\(free) \(after)")
    try engine.close()
  }
}
