import Bytes
import Engine
import POSIX
import TestKit
import Testing

@testable import Volume

/// A check beside readers and writers, and beside a lock.
@Suite(.serialized) struct ScrubRaceTests {
  private let caller = Caller(user: 0, group: 0, mask: 0o022)

  /// Files come, change and go while everything is checked again and again: no false alarm.
  @Test(.timeLimit(.minutes(5))) func changesAreNoDamage() throws {
    let vault = try ScratchVault()
    let volume = try vault.open()
    let isOver = Lock(false)
    let failures = Lock<[String]>([])
    var threads: [Thread] = []
    for index in 0..<3 {
      threads.append(
        try Thread.start("writer") {
          do {
            try Self.work(volume, index, caller) { isOver.withLock { $0 } }
          } catch { failures.withLock { $0.append("\(error)") } }
        })
    }
    threads.append(
      try Thread.start("roots") {
        while !isOver.withLock({ $0 }) {
          try? volume.engine.checkpoint()
          Clock.sleep(nanoseconds: 20_000_000)
        }
      })
    for _ in 0..<4 {
      let found = try volume.scrub(ScrubOptions()).damages.map { $0.text }
      #expect(found == [])
    }
    isOver.withLock { $0 = true }
    for thread in threads { thread.join() }
    let failed = failures.withLock { $0 }
    #expect(failed == [])
    // Once it is quiet, everything is compared.
    try volume.syncAll()
    try volume.engine.checkpoint()
    let quiet = try volume.scrub(ScrubOptions())
    #expect(quiet.isCompared && quiet.damages.isEmpty)
    try volume.close()
  }

  private static func work(
    _ volume: Volume, _ index: Int, _ caller: Caller, until isOver: () -> Bool
  ) throws {
    var random = SplitMix64(seed: UInt64(index))
    while !isOver() {
      let name = try FileName("f\(index)-\(Int.random(in: 0..<8, using: &random))")
      if let found = try? volume.lookup(name, in: .root) {
        switch Int.random(in: 0..<4, using: &random) {
        case 0: try volume.unlink(name, in: .root)
        case 1:
          var change = AttributeChange()
          change.size = UInt64.random(in: 0..<(1 << 20), using: &random)
          _ = try volume.setAttributes(of: found.inode, change, by: caller)
        case 2: try volume.sync(found.inode, dataOnly: false)
        default:
          let start = UInt64.random(in: 0..<(1 << 20), using: &random)
          try volume.put(
            found.inode, [UInt8](repeating: UInt8(index), count: 50_000), at: start)
        }
      } else {
        _ = try volume.makeNode(name, in: .root, mode: 0o100644, device: 0, by: caller)
      }
    }
  }

  /// A lock does not wait for a check: the check ends.
  @Test(.timeLimit(.minutes(1))) func aCheckEndsWhenTheVolumeCloses() throws {
    let vault = try ScratchVault()
    let volume = try vault.open()
    let file = try volume.makeNode(
      FileName("f"), in: .root, mode: 0o100644, device: 0, by: caller)
    for index in 0..<32 as Range<UInt64> {
      try volume.put(file.inode, [UInt8](repeating: 1, count: 1 << 20), at: index << 20)
    }
    try volume.sync(file.inode, dataOnly: false)
    let outcome = Monitor<[Bool]>([])
    let begun = Monitor(false)
    let thread = try Thread.start("check") {
      var wasStopped = false
      while !wasStopped {
        do throws(VolumeError) {
          _ = try volume.scrub(ScrubOptions()) { _ in
            begun.withLock { $0 = true }
            return true
          }
          begun.withLock { $0 = true }
        } catch { wasStopped = error == .locked }
      }
      outcome.withLock { $0.append(wasStopped) }
    }
    begun.withLock(when: { $0 }, timeout: nil) { _ in }
    try volume.close()
    thread.join()
    let stopped = outcome.withLock { $0 }
    #expect(stopped == [true])
    #expect(throws: VolumeError.locked) { try volume.scrub(ScrubOptions()) }
  }

  /// Whoever asked for it may stop it.
  @Test func aCheckCanBeStopped() throws {
    let vault = try ScratchVault()
    let volume = try vault.open()
    #expect(throws: VolumeError.locked) { try volume.scrub(ScrubOptions()) { _ in false } }
    try volume.close()
  }
}
