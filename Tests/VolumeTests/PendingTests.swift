import Crypto
import Disk
import Engine
import Format
import POSIX
import TestKit
import Testing

@testable import Volume

@Suite struct PendingChunksTests {
  private func reference(_ slot: UInt32) -> Reference {
    Reference(slot: slot, ivHigh: 1, ivLow: 2, tagLow: 3, tagHigh: 4)
  }

  @Test func countsWhatIsStored() {
    var pending = PendingChunks()
    #expect(pending.isEmpty)
    #expect(pending.set(4, reference(9)) == nil)
    #expect(pending.set(2, .hole) == nil)
    #expect(pending.count == 2)
    #expect(pending.stored == 1)
    #expect(pending.set(4, .hole) == reference(9))
    #expect(pending.stored == 0)
    #expect(pending.set(4, reference(8)) == .hole)
    #expect(pending.set(4, reference(7)) == reference(8))
    #expect(pending.stored == 1)
    #expect(pending.set(4, nil) == reference(7))
    #expect(pending.stored == 0)
    #expect(pending.set(4, nil) == nil)
    #expect(pending.chunks == [2])
    #expect(pending.set(2, nil) == .hole)
    #expect(pending.isEmpty)
  }

  @Test func chunksAreInOrder() {
    var pending = PendingChunks()
    for chunk in [9, 1, 700, 3] as [UInt64] { pending.set(chunk, reference(UInt32(chunk))) }
    #expect(pending.chunks == [1, 3, 9, 700])
    #expect(Set(pending.references.map { $0.slot }) == [1, 3, 9, 700])
  }

  @Test func cutAndRestoreChangeNothing() {
    var pending = PendingChunks()
    for chunk in 0..<10 as Range<UInt64> {
      pending.set(chunk, chunk % 3 == 0 ? .hole : reference(UInt32(chunk)))
    }
    let stored = pending.stored
    let cut = pending.cut(from: 4)
    #expect(pending.chunks == [0, 1, 2, 3])
    #expect(pending.stored == 2)
    #expect(cut.chunks == [4, 5, 6, 7, 8, 9])
    #expect(cut.stored == 4)
    pending.restore(cut)
    #expect(pending.chunks == Array(0..<10))
    #expect(pending.stored == stored)
  }

  @Test func firstStoredPassesOverHoles() {
    var pending = PendingChunks()
    pending.set(3, .hole)
    pending.set(5, reference(5))
    pending.set(8, reference(8))
    #expect(pending.firstStored(from: 0) == 5)
    #expect(pending.firstStored(from: 5) == 5)
    #expect(pending.firstStored(from: 6) == 8)
    #expect(pending.firstStored(from: 9) == nil)
  }
}

/// Contents that no frame names, where a change of them fails or replaces them.
@Suite struct PendingTests {
  private func failJournal(_ held: borrowing HeldVolume) {
    held.disk.fault = { $0.kind == .write && $0.object.hasPrefix("journal/") ? .ioError : nil }
  }

  @Test func aFailedOpenWithTruncationKeepsWhatWasWritten() throws {
    let held = try HeldVolume()
    let file = try held.make("file")
    let content = HeldVolume.bytes(1, 100_000)
    try held.volume.put(file, content)
    failJournal(held)
    #expect(throws: VolumeError.self) { try held.volume.open(file, truncate: true) }
    #expect(try held.volume.attributes(of: file).size == 100_000)
    #expect(try held.volume.text(file) == content)
  }

  @Test func aFailedTruncationKeepsWhatWasWritten() throws {
    let held = try HeldVolume()
    let file = try held.make("file")
    let content = HeldVolume.bytes(1, 100_000)
    try held.volume.put(file, content)
    failJournal(held)
    #expect(throws: VolumeError.self) { try held.resize(file, to: 4096) }
    #expect(try held.volume.attributes(of: file).size == 100_000)
    #expect(try held.volume.text(file) == content)
  }

  /// Killed after close(2): the new contents are there, or at least not neither.
  @Test func closingAfterATruncationKeepsTheNewContents() throws {
    let held = try HeldVolume()
    let file = try held.make("file")
    try held.volume.put(file, HeldVolume.bytes(1, 5000))
    try held.volume.syncAll()
    try held.volume.open(file, truncate: true)
    let content = HeldVolume.bytes(2, 6000)
    try held.volume.put(file, content)
    try held.volume.flush(file)
    let killed = try held.open(held.disk.crashed(seed: 1, mode: .keepAll))
    #expect(try killed.text(file) == content)
    try killed.close()
  }

  @Test func closingWithoutATruncationWritesNoFrame() throws {
    let held = try HeldVolume()
    let file = try held.make("file")
    try held.volume.put(file, HeldVolume.bytes(1, 5000))
    held.disk.resetCounts()
    try held.volume.flush(file)
    let writes = held.disk.count(of: .write)
    #expect(writes == 0)
    try held.volume.close()
  }

  /// What could not be made durable is not called so later, full disk or not.
  @Test(arguments: [Errno.ioError, .noSpace, .overQuota])
  func aFailedSyncInACheckpointIsNotForgotten(errno: Errno) throws {
    let held = try HeldVolume()
    let file = try held.make("file")
    try held.volume.put(file, HeldVolume.bytes(1, 100_000))
    held.disk.fault = { $0.kind == .sync && $0.object.hasPrefix("data/") ? errno : nil }
    #expect(throws: EngineError.self) { try held.volume.engine.checkpoint() }
    held.disk.fault = nil
    #expect(throws: VolumeError.self) { try held.volume.sync(file, dataOnly: false) }
    let isReadOnly = held.volume.isReadOnly
    #expect(isReadOnly)
    #expect(throws: VolumeError.self) { try held.volume.close() }
  }

  /// A write that does not get all its chunks leaves none: zeros come when the file grows later.
  @Test func aFailedWriteLeavesNothing() throws {
    let held = try HeldVolume()
    let file = try held.make("file")
    try held.volume.put(file, HeldVolume.bytes(1, 4096))
    try held.volume.syncAll()
    held.disk.fault = { call in
      guard call.kind == .write, let range = call.range else { return nil }
      return call.object.hasPrefix("data/") && range.upperBound > 64 << 12 ? .ioError : nil
    }
    #expect(throws: VolumeError.self) {
      try held.volume.put(file, HeldVolume.bytes(9, 1 << 20), at: 4096)
    }
    held.disk.fault = nil
    #expect(try held.volume.attributes(of: file).size == 4096)
    try held.resize(file, to: 2 << 20)
    let content = try held.volume.text(file, count: 2 << 20)
    let isLeft = content.dropFirst(4096).contains { $0 != 0 }
    #expect(!isLeft)
    #expect(Array(content.prefix(4096)) == HeldVolume.bytes(1, 4096))
    try held.volume.close()
  }

  /// One file that cannot be framed is its own writer's trouble.
  @Test func anotherFilesFailureIsNotToldToAWriter() throws {
    let held = try HeldVolume()
    let bad = try held.make("bad")
    let good = try held.make("good")
    try held.volume.put(bad, HeldVolume.bytes(1, 4096))
    try held.volume.syncAll()
    try held.volume.engine.spoilMap(of: bad, in: held.volume)
    try held.volume.put(bad, HeldVolume.bytes(2, 4096))
    #expect(throws: VolumeError.self) { try held.volume.syncAll() }
    held.volume.unframed.withLock { $0.chunks += (65 << 20) / 4096 }
    try held.volume.put(good, HeldVolume.bytes(3, 4096))
    try held.volume.flush(good)
    #expect(throws: VolumeError.self) { try held.volume.flush(bad) }
  }
}
