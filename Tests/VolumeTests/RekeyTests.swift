import Bytes
import Crypto
import Disk
@testable import Engine
import Format
import POSIX
import TestKit
import Testing

@testable import Volume

/// Keys are replaced before too much is sealed under one; what was sealed before stays readable
/// throughout, after power losses too.
@Suite struct RekeyTests {
  let vault = [UInt8](repeating: 6, count: 16)
  let caller = Caller(user: 1000, group: 1000, mask: 0o022)

  private func options(sealsPerKey: UInt64) -> EngineOptions {
    var options = EngineOptions()
    options.worksInBackground = false
    options.journalSegmentBytes = 256 << 10
    options.cacheBytes = 64 << 12
    options.sealsPerKey = sealsPerKey
    options.rekeyBatch = 8
    return options
  }

  private func open(
    _ disk: SimulatedDisk, _ master: borrowing SecretBytes, _ sealsPerKey: UInt64
  ) throws -> Volume {
    try Volume.open(
      on: disk, master: master, vault: vault, options: options(sealsPerKey: sealsPerKey),
      anchor: nil)
  }

  private func make(
    _ master: borrowing SecretBytes, _ sealsPerKey: UInt64
  ) throws -> (SimulatedDisk, Volume) {
    let disk = SimulatedDisk()
    try Volume.create(
      on: disk, master: master, vault: vault, options: options(sealsPerKey: sealsPerKey),
      anchor: nil, owner: caller)
    return (disk, try open(disk, master, sealsPerKey))
  }

  private func read(_ volume: Volume, _ inode: InodeNumber) throws -> [UInt8] {
    let size = Int(try volume.attributes(of: inode).size)
    let buffer = Buffer(count: size)
    var span = buffer.mutableBytes(in: 0..<size)
    #expect(try volume.read(inode, into: &span, at: 0) == size)
    return buffer.load(0..<size)
  }

  /// A file of 700 chunks is written at random until it has had several keys.
  @Test(arguments: 0..<2 as Range<UInt64>) func files(seed: UInt64) throws {
    let master = SecretBytes(random: 32)
    let limit: UInt64 = 2000
    let (disk, first) = try make(master, limit)
    var volume = first
    let inode = try volume.makeNode(
      FileName("a"), in: .root, mode: 0o100644, device: 0, by: caller
    ).inode
    var content = [UInt8](repeating: 1, count: 700 * 4096 + 17)
    try volume.write(inode, Buffer(content).bytes, at: 0, clearsSetID: false)
    var random = SplitMix64(seed: seed)
    var states: Set<String> = []
    for round in 0..<200 {
      let count = 1 + random.below(40 * 4096)
      let offset = random.below(content.count - count)
      let fill = UInt8(truncatingIfNeeded: round)
      content.replaceSubrange(
        offset..<(offset + count), with: repeatElement(fill, count: count))
      let bytes = Buffer([UInt8](repeating: fill, count: count))
      try volume.write(inode, bytes.bytes, at: UInt64(offset), clearsSetID: false)
      let record = try volume.record(of: inode.rawValue)
      states.insert("\(record.keyNumber) \(record.flags.contains(.rekeying))")
      if round % 25 == 24 {
        try volume.sync(inode, dataOnly: false)
        #expect(try read(volume, inode) == content, "seed \(seed) round \(round)")
        let crashed = try open(disk.crashed(seed: seed, mode: .random), master, limit)
        #expect(try read(crashed, inode) == content, "seed \(seed) round \(round), power loss")
        try volume.close()
        volume = try open(disk, master, limit)
        #expect(try read(volume, inode) == content, "seed \(seed) round \(round), reopened")
      }
    }
    #expect(states.contains { $0.hasSuffix("true") } && states.contains { $0.hasSuffix("false") })
    #expect(states.count > 4, "\(states)")
    try volume.close()
  }

  /// A chunk that could only not be read keeps its key until it can.
  @Test func aChunkThatCannotBeReadKeepsItsKey() throws {
    let master = SecretBytes(random: 32)
    let (disk, volume) = try make(master, 1000)
    let inode = try volume.makeNode(
      FileName("a"), in: .root, mode: 0o100644, device: 0, by: caller
    ).inode
    let content = [UInt8](repeating: 1, count: 300 * 4096)
    func writeSome() throws {
      let bytes = Buffer(content)
      for _ in 0..<10 {
        try volume.write(
          inode, bytes.bytes(in: 0..<(40 * 4096)), at: 200 * 4096, clearsSetID: false)
      }
      try volume.sync(inode, dataOnly: false)
    }
    func isRekeying() throws -> Bool {
      try volume.record(of: inode.rawValue).flags.contains(.rekeying)
    }
    try volume.write(inode, Buffer(content).bytes, at: 0, clearsSetID: false)
    try volume.sync(inode, dataOnly: false)
    let slot = UInt64(try volume.slot(of: 5, in: "a"))
    disk.fault = { call in
      guard call.kind == .read, call.object.hasPrefix("data/"), let range = call.range else {
        return nil
      }
      return range.overlaps((slot * 4096)..<(slot * 4096 + 4096)) ? .ioError : nil
    }
    for _ in 0..<4 { try writeSome() }
    #expect(try isRekeying())
    disk.fault = nil
    #expect(try read(volume, inode) == content)
    for _ in 0..<4 { try writeSome() }
    #expect(try read(volume, inode) == content)
    #expect(try volume.record(of: inode.rawValue).keyNumber > 1)
    try volume.close()
  }

  /// A page of which no copy is left has no key to lose: checkpoints go on, and re-keying ends. One
  /// that can only not be read keeps its key.
  @Test func pagesThatCannotBeReadStopNoCheckpoint() throws {
    let master = SecretBytes(random: 32)
    let (disk, first) = try make(master, 1 << 30)
    for index in 0..<400 {
      #expect(VolumeDriver(first).apply(.create([Array("name \(index)".utf8)])) == nil)
    }
    let lost = try first.find("name 100").rawValue
    let hidden = try first.find("name 300").rawValue
    try first.close()
    let look = try open(disk, master, 1 << 30)
    let slots = try [lost, hidden].map { try look.slot(of: Inodes.page(of: $0)) }
    try look.close()
    disk.flip(meta: slots[0])
    let volume = try open(disk, master, 20)
    disk.fail(meta: slots[1])
    func checkpoints(_ count: Int) throws {
      for index in 0..<count {
        let name = try FileName("more \(index)")
        _ = try volume.makeNode(name, in: .root, mode: 0o100644, device: 0, by: caller)
        try volume.engine.checkpoint()
        try volume.unlink(name, in: .root)
      }
    }
    try checkpoints(30)
    let waits = volume.engine.store.isRekeying
    #expect(waits)
    disk.fault = nil
    let seed = volume.engine.checkpointing.withLock { $0.root.metadataSeed }
    try checkpoints(40)
    let later = volume.engine.checkpointing.withLock { $0.root.metadataSeed }
    #expect(seed != later)
    #expect(try volume.attributes(of: InodeNumber(rawValue: hidden)).links == 1)
    #expect(throws: VolumeError.self) {
      _ = try volume.attributes(of: InodeNumber(rawValue: lost))
    }
    try volume.close()
  }

  /// Several metadata keys go by while names are made and removed; every page stays readable.
  @Test(arguments: 0..<2 as Range<UInt64>) func metadata(seed: UInt64) throws {
    let master = SecretBytes(random: 32)
    let limit: UInt64 = 200
    let (disk, first) = try make(master, limit)
    var volume = first
    var model = ModelVolume()
    var generator = OperationGenerator(seed: seed)
    // Pages enough that one checkpoint does not re-key them all.
    for index in 0..<1200 {
      let operation = Operation.create([Array("name \(index)".utf8)])
      _ = model.apply(operation)
      #expect(VolumeDriver(volume).apply(operation) == nil)
    }
    var seeds: Set<[UInt8]> = []
    var between = 0
    for step in 0..<200 {
      let operation = generator.next(in: model)
      #expect(VolumeDriver(volume).apply(operation) == model.apply(operation))
      guard step % 5 == 4 else { continue }
      try volume.engine.checkpoint()
      let root = volume.engine.checkpointing.withLock { $0.root }
      seeds.insert(root.metadataSeed)
      if root.oldMetadataSeed.contains(where: { $0 != 0 }) { between += 1 }
      guard step % 100 == 99 else { continue }
      let crashed = try open(disk.crashed(seed: seed, mode: .random), master, limit)
      _ = try VolumeDriver(crashed).listing()
      try volume.close()
      volume = try open(disk, master, limit)
      let found = try VolumeDriver(volume).listing()
      #expect(found == model.listing, "seed \(seed) step \(step)")
    }
    #expect(seeds.count > 3 && between > 3, "\(seeds.count) keys, \(between) between")
    try volume.close()
  }
}
