import Crypto
import Disk
import Engine
import POSIX
import TestKit
import Testing

@testable import Volume

/// Two threads at one inode, one of them in the middle of a frame.
@Suite struct RaceTests {
  /// The slots of a deleted file are another's only when no frame under way can name them.
  @Test func reapingWaitsForAFrameUnderWay() throws {
    let held = try HeldVolume()
    let volume = held.volume
    let gone = try held.make("gone")
    let other = try held.make("other")
    try volume.open(gone, truncate: false)
    try volume.unlink(FileName("gone"), in: .root)
    try volume.put(gone, HeldVolume.bytes(1, 8 << 12))
    let gate = held.held.hold(.write, of: "journal/", .before)
    let frame = try Aside { try volume.sync(gone, dataOnly: false) }
    #expect(gate.waitUntilReached())
    volume.release(gone)
    let reap = try Aside { if let failure = volume.reapOrphans() { throw failure } }
    #expect(!reap.ends(within: 100_000_000))
    let content = HeldVolume.bytes(2, 8 << 12)
    try volume.put(other, content)
    gate.open()
    try frame.finish()
    try reap.finish()
    try volume.sync(other, dataOnly: false)
    try volume.engine.checkpoint()
    let third = try held.make("third")
    try volume.put(third, HeldVolume.bytes(3, 32 << 12))
    try volume.sync(third, dataOnly: false)
    #expect(try volume.text(other) == content)
    try volume.close()
    let again = try held.open(held.disk)
    #expect(try again.text(other) == content)
    try again.close()
  }

  /// utimensat(2) while what was written before is being framed.
  @Test func aTimeThatIsSetOutlivesAFrameUnderWay() throws {
    let held = try HeldVolume()
    let volume = held.volume
    let file = try held.make("file")
    try volume.put(file, HeldVolume.bytes(1, 32 << 12))
    let gate = held.held.hold(.sync, of: "data/", .before)
    let frame = try Aside { try volume.sync(file, dataOnly: false) }
    #expect(gate.waitUntilReached())
    let time = Timestamp(seconds: 1_000_000_000, nanoseconds: 5)
    var change = AttributeChange()
    change.modified = .to(time)
    let set = try volume.setAttributes(of: file, change, by: held.caller)
    #expect(set.modified == time)
    gate.open()
    try frame.finish()
    #expect(try volume.attributes(of: file).modified == time)
    try volume.close()
    let again = try held.open(held.disk)
    #expect(try again.attributes(of: file).modified == time)
    try again.close()
  }

  /// What is written in the middle of a frame is not taken for framed.
  @Test func aWriteDuringAFrameIsKept() throws {
    let held = try HeldVolume()
    let volume = held.volume
    let file = try held.make("file")
    try volume.put(file, HeldVolume.bytes(1, 32 << 12))
    let gate = held.held.hold(.sync, of: "data/", .before)
    let frame = try Aside { try volume.sync(file, dataOnly: false) }
    #expect(gate.waitUntilReached())
    let write = try Aside { try volume.put(file, HeldVolume.bytes(2, 4096), at: 32 << 12) }
    gate.open()
    try frame.finish()
    try write.finish()
    try volume.close()
    let again = try held.open(held.disk)
    #expect(try again.text(file) == HeldVolume.bytes(1, 32 << 12) + HeldVolume.bytes(2, 4096))
    try again.close()
  }

  /// What a reader is about to read is not given to another file meanwhile (invariant I7).
  @Test func aReaderKeepsWhatItsReferencesName() throws {
    let held = try HeldVolume()
    let volume = held.volume
    let file = try held.make("file")
    let other = try held.make("other")
    let content = HeldVolume.bytes(1, 8 << 12)
    try volume.put(file, content)
    try volume.syncAll()
    let gate = held.held.hold(.read, of: "data/", .before)
    let found = Lock<[UInt8]>([])
    let read = try Aside {
      let bytes = try volume.text(file)
      found.withLock { $0 = bytes }
    }
    #expect(gate.waitUntilReached())
    let write = try Aside {
      try volume.put(file, HeldVolume.bytes(2, 8 << 12))
      try volume.syncAll()
      try volume.engine.checkpoint()
      try volume.put(other, HeldVolume.bytes(3, 64 << 12))
    }
    // Long enough to do it all, if nothing held it up.
    #expect(!write.ends(within: 2_000_000_000))
    gate.open()
    try read.finish()
    try write.finish()
    #expect(found.withLock { $0 } == content)
    try volume.close()
  }

  /// The kernel takes the size of an inode it did not know for its own.
  @Test func neverShowsASizeBeforeTheLastWrite() throws {
    let held = try HeldVolume()
    let volume = held.volume
    let file = try held.make("file")
    let written = Lock<UInt64?>(0)
    // More than there are processors, so that each is interrupted wherever it is.
    let readers = try (0..<6).map { _ in
      try Aside {
        while let least = written.withLock({ $0 }) {
          let size = try volume.attributes(of: file).size
          if size < least { throw Errno.ioError }
        }
      }
    }
    for index in 0..<300 {
      try volume.put(file, HeldVolume.bytes(1, 512), at: UInt64(index * 512))
      written.withLock { $0 = UInt64(index + 1) * 512 }
      try volume.sync(file, dataOnly: false)
    }
    written.withLock { $0 = nil }
    for reader in readers { try reader.finish() }
    try volume.close()
  }
}
