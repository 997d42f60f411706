import Bytes
import Crypto
import Disk
import Engine
import Format
import POSIX
import TestKit
import Testing

@testable import Volume

/// Random operations on the volume and on a small model in memory agree, after each and after each
/// mount.
@Suite struct ModelTests {
  let vault = [UInt8](repeating: 5, count: 16)

  private var options: EngineOptions {
    var options = EngineOptions()
    options.worksInBackground = false
    options.journalSegmentBytes = 1 << 20
    return options
  }

  private func makeVault(_ master: borrowing SecretBytes) throws -> SimulatedDisk {
    let disk = SimulatedDisk()
    try Volume.create(
      on: disk, master: master, vault: vault, options: options, anchor: nil,
      owner: Caller(user: 1000, group: 1000, mask: 0o022))
    return disk
  }

  private func open(_ disk: SimulatedDisk, _ master: borrowing SecretBytes) throws -> Volume {
    try Volume.open(on: disk, master: master, vault: vault, options: options, anchor: nil)
  }

  @Test(arguments: 0..<8 as Range<UInt64>)
  func agreesWithTheModel(seed: UInt64) throws {
    let master = SecretBytes(random: 32)
    let disk = try makeVault(master)
    var volume = try open(disk, master)
    var model = ModelVolume()
    var generator = OperationGenerator(seed: seed, largest: 40 * 4096)
    for round in 0..<6 {
      for step in 0..<120 {
        let operation = generator.next(in: model)
        let expected = model.apply(operation)
        let found = VolumeDriver(volume).apply(operation)
        #expect(found == expected, "seed \(seed) round \(round) step \(step): \(operation)")
        if found != expected { return }
        if step % 37 == 36 { try volume.engine.checkpoint() }
        if step % 53 == 52 { #expect(volume.reapOrphans() == nil) }
      }
      try expectSame(volume, model, "seed \(seed) round \(round)")
      try volume.close()
      // A kill loses nothing that was framed; a clean stop loses nothing at all.
      volume = try open(disk, master)
      try expectSame(volume, model, "seed \(seed) after mount \(round)")
    }
    try volume.close()
  }

  private func expectSame(_ volume: Volume, _ model: ModelVolume, _ what: String) throws {
    let found = try VolumeDriver(volume).listing()
    let expected = model.listing
    #expect(found == expected, "\(what): \(found.differences(from: expected))")
  }

  /// Everything removed leaves no chunk, no page and no inode behind.
  @Test func leaksNothing() throws {
    let master = SecretBytes(random: 32)
    let volume = try open(try makeVault(master), master)
    var generator = OperationGenerator(seed: 99, largest: 200 * 4096)
    for _ in 0..<400 { _ = VolumeDriver(volume).apply(generator.next()) }
    try volume.empty(.root)
    try volume.frameAll()
    #expect(volume.reapOrphans() == nil)
    let counts = try volume.engine.read { (pages) throws(EngineError) in
      let system = try pages.read(PageID(.system, 0))
      return [SystemPage.usedSlots, SystemPage.usedInodes, SystemPage.usedPages].map {
        system.load(UInt64.self, at: $0)
      }
    }
    #expect(counts == [0, 1, 0])
    try volume.close()
  }
}

extension Volume {
  /// Removes everything below a directory.
  func empty(_ directory: InodeNumber) throws {
    for entry in try VolumeDriver(self).list(directory) {
      let name = try FileName(entry.name)
      if entry.type == FileMode.directory {
        try empty(entry.inode)
        try removeDirectory(name, in: directory)
      } else {
        try unlink(name, in: directory)
      }
    }
  }
}
