import Bytes
import Crypto
import Disk
import Engine
import Format
import POSIX
import TestKit
import Testing

@testable import Volume

/// A full disk refuses growth with ENOSPC and nothing else (invariant I8).
@Suite struct FullDiskTests {
  let vault = [UInt8](repeating: 5, count: 16)
  let caller = Caller(user: 1000, group: 1000, mask: 0o022)

  private var options: EngineOptions {
    var options = EngineOptions()
    options.worksInBackground = false
    options.journalSegmentBytes = 256 << 10
    return options
  }

  private func make(_ master: borrowing SecretBytes, room: Int) throws -> (SimulatedDisk, Volume) {
    let disk = SimulatedDisk()
    try Volume.create(
      on: disk, master: master, vault: vault, options: options, anchor: nil, owner: caller)
    let volume = try open(disk, master)
    disk.capacity = disk.used + room
    return (disk, volume)
  }

  private func open(_ disk: SimulatedDisk, _ master: borrowing SecretBytes) throws -> Volume {
    try Volume.open(on: disk, master: master, vault: vault, options: options, anchor: nil)
  }

  /// Random operations on a disk with little room: removal never fails, what is refused changes
  /// nothing, and the vault closes, opens and is emptied without a byte more.
  @Test(arguments: 0..<12 as Range<UInt64>) func refusesGrowthOnly(seed: UInt64) throws {
    let master = SecretBytes(random: 32)
    var random = SplitMix64(seed: seed)
    let (disk, volume) = try make(master, room: 4096 * (20 + random.below(100)))
    var model = ModelVolume()
    var generator = OperationGenerator(seed: seed)
    var refused = 0
    for step in 0..<1500 where refused < 60 {
      let operation = generator.next(in: model)
      let error = VolumeDriver(volume).apply(operation)
      if error == .noSpace {
        refused += 1
        #expect(!operation.removes, "seed \(seed) step \(step) \(operation)")
      } else {
        let expected = model.apply(operation)
        #expect(error == expected, "seed \(seed) step \(step) \(operation)")
        if error != expected { return }
      }
    }
    #expect(refused > 0, "seed \(seed)")
    #expect(VolumeDriver(volume).attempt(.sync([])) == nil)
    try expectSame(volume, model, "seed \(seed)")
    // Killed, with the disk as full.
    let killed = try open(disk.crashed(seed: seed, mode: .dropAll), master)
    try expectSame(killed, model, "seed \(seed) after a power loss")
    try volume.close()
    let again = try open(disk, master)
    try expectSame(again, model, "seed \(seed) after a mount")
    try again.empty(.root)
    #expect(again.reapOrphans() == nil)
    try again.engine.checkpoint()
    #expect(VolumeDriver(again).attempt(.create([[0x61]])) == nil)
    try again.close()
  }

  private func expectSame(_ volume: Volume, _ model: ModelVolume, _ what: String) throws {
    let found = try VolumeDriver(volume).listing()
    let expected = model.listing
    #expect(found == expected, "\(what): \(found.differences(from: expected))")
  }

  private func fill(_ volume: Volume, _ name: String) throws -> (inode: InodeNumber, size: Int) {
    let made = try volume.makeNode(
      FileName(name), in: .root, mode: 0o100644, device: 0, by: caller)
    let block = Buffer([UInt8](repeating: 7, count: 128 << 10))
    var size = 0
    while true {
      do throws(VolumeError) {
        try volume.write(made.inode, block.bytes, at: UInt64(size), clearsSetID: false)
        size += block.count
      } catch {
        #expect(error.errno == .noSpace)
        return (made.inode, size)
      }
    }
  }

  /// A file much larger than the reserve is overwritten from start to end, several times.
  @Test func overwritesWhenFull() throws {
    let master = SecretBytes(random: 32)
    let (_, volume) = try make(master, room: 24 << 20)
    let (inode, size) = try fill(volume, "large")
    #expect(size > 12 << 20)
    for round in 1...3 as ClosedRange<UInt8> {
      let block = Buffer([UInt8](repeating: round, count: 64 << 10))
      for offset in stride(from: 0, to: size, by: block.count) {
        try volume.write(inode, block.bytes, at: UInt64(offset), clearsSetID: false)
      }
      try volume.syncAll()
    }
    #expect(throws: VolumeError.system(.noSpace)) {
      try volume.write(
        inode, Buffer(count: 128 << 10).bytes, at: UInt64(size), clearsSetID: false)
    }
    let found = Buffer(count: size)
    var span = found.mutableBytes(in: 0..<size)
    #expect(try volume.read(inode, into: &span, at: 0) == size)
    #expect(found.load(0..<size).allSatisfy { $0 == 3 })
    try volume.close()
  }

  /// Small contents are in the journal alone when the power goes: read from memory then.
  @Test func whatWasSyncedIsReadWithoutRoomToRecover() throws {
    let master = SecretBytes(random: 32)
    let (disk, volume) = try make(master, room: 16 << 20)
    disk.keepsCalls = true
    var made: [InodeNumber] = []
    for index in 1...5 as ClosedRange<UInt8> {
      let name = try FileName("f\(index)")
      let inode = try volume.makeNode(name, in: .root, mode: 0o100644, device: 0, by: caller).inode
      let content = Buffer([UInt8](repeating: index, count: 5000))
      try volume.write(inode, content.bytes, at: 0, clearsSetID: false)
      try volume.sync(inode, dataOnly: false)
      made.append(inode)
    }
    let used = Set(disk.calls.filter { $0.kind == .write }.map { $0.object })
    let crashed = disk.crashed(seed: 1, mode: .dropAll)
    for name in crashed.names where name.hasPrefix("journal/") && !used.contains(name) {
      crashed.removeObject(name)
    }
    for room in [0, 16 << 20] {
      crashed.capacity = crashed.used + room
      let again = try open(crashed, master)
      let isReadOnly = again.isReadOnly
      #expect(isReadOnly == (room == 0))
      for (index, inode) in made.enumerated() {
        let content = try VolumeDriver(again).contents(of: inode)
        #expect(content == [UInt8](repeating: UInt8(index + 1), count: 5000))
      }
      let refusal = VolumeDriver(again).apply(.create([[0x61]]))
      #expect(refusal == (room == 0 ? .readOnly : nil))
      try again.close()
    }
    try volume.close()
  }

  /// Names are still made and moved, and removing a file gives its space to the next one.
  @Test func namesAndRemovalWhenFull() throws {
    let master = SecretBytes(random: 32)
    let (disk, volume) = try make(master, room: 16 << 20)
    let (inode, size) = try fill(volume, "large")
    for index in 0..<100 {
      _ = try volume.makeDirectory(FileName("d\(index)"), in: .root, mode: 0o755, by: caller)
      try volume.rename(
        FileName("d\(index)"), in: .root, to: FileName("e\(index)"), in: .root, .replace)
    }
    try volume.unlink(FileName("large"), in: .root)
    volume.forget(inode, count: 1)
    #expect(volume.reapOrphans() == nil)
    let before = try disk.space().free
    try volume.engine.checkpoint()
    #expect(try disk.space().free >= before + UInt64(size) - (1 << 20))
    let again = try fill(volume, "again")
    #expect(again.size > size - (1 << 20))
    try volume.close()
  }
}

extension Operation {
  /// Whether it gives space back.
  fileprivate var removes: Bool {
    switch self {
    case .unlink, .removeDirectory: true
    default: false
    }
  }
}
