import Bytes
import Crypto
import Disk
import Engine
import POSIX
import TestKit
import Testing

@testable import Volume

/// What fsync(2) promises of the content of a file, whenever the power is lost.
@Suite struct SyncedContentTests {
  private let vault = [UInt8](repeating: 7, count: 16)
  private let caller = Caller(user: 0, group: 0, mask: 0)

  private var options: EngineOptions {
    var options = EngineOptions()
    options.worksInBackground = false
    options.journalSegmentBytes = 256 << 10
    return options
  }

  /// After a power loss each chunk is as in the version that was synced last, or as in a later one.
  @Test("every fsynced chunk lasts", arguments: 0..<3 as Range<UInt64>)
  func everySyncedChunkLasts(seed: UInt64) throws {
    let master = SecretBytes(random: 32)
    let fresh = SimulatedDisk()
    try Volume.create(
      on: fresh, master: master, vault: vault, options: options, anchor: nil, owner: caller)
    let end = try write(on: fresh.snapshot(), seed, master, stopAfter: nil).steps
    var random = SplitMix64(seed: seed)
    var point = 1
    while point <= end {
      let disk = fresh.snapshot()
      let files = try write(on: disk, seed, master, stopAfter: point).files
      for mode in [CrashMode.dropAll, .prefix, .subset] {
        let crashed = disk.crashed(seed: random.next(), mode: mode)
        let complaint = self.complaint(about: crashed, files, master)
        #expect(complaint == nil, "seed \(seed) point \(point) mode \(mode)")
        if complaint != nil { return }
      }
      point += 1 + random.below(20)
    }
  }

  /// The files as they were written until the disk stopped, and the steps of the disk it took.
  private func write(
    on disk: SimulatedDisk, _ seed: UInt64, _ master: borrowing SecretBytes, stopAfter: Int?
  ) throws -> (files: [WrittenFile], steps: Int) {
    let volume = try Volume.open(
      on: disk, master: master, vault: vault, options: options, anchor: nil)
    var writing = Writing(volume: volume, random: SplitMix64(seed: seed), caller: caller)
    let before = disk.steps
    disk.stopAfter = stopAfter.map { before + $0 }
    do {
      try writing.run(steps: 50)
    } catch {
      if stopAfter == nil { throw error }
    }
    return (writing.files, disk.steps - before)
  }

  /// What is wrong with the files on a disk; nil if nothing is.
  private func complaint(
    about disk: SimulatedDisk, _ files: [WrittenFile], _ master: borrowing SecretBytes
  ) -> String? {
    do {
      let volume = try Volume.open(
        on: disk, master: master, vault: vault, options: options, anchor: nil)
      for file in files {
        guard let found = try self.file(file.name, in: volume) else {
          if file.synced == nil { continue }
          return "\(file.name) has no name"
        }
        let content = try VolumeDriver(volume).contents(of: found.inode)
        if content.count != Int(found.size) { return "\(file.name) ends at \(content.count)" }
        if let complaint = file.complaint(about: content) { return "\(file.name): \(complaint)" }
      }
      return nil
    } catch { return "\(error)" }
  }

  private func file(_ name: String, in volume: Volume) throws -> Attributes? {
    do throws(VolumeError) { return try volume.lookup(try FileName(name), in: .root) } catch {
      if error.errno == .noSuchFile { return nil }
      throw error
    }
  }
}

/// A file with all that it ever held.
private struct WrittenFile {
  let name: String
  var versions: [[UInt8]] = [[]]
  /// The latest version that was synced.
  var synced: Int?

  /// What is wrong with a content, nil if each chunk can be what a power loss left.
  func complaint(about content: [UInt8]) -> String? {
    let versions = versions[(synced ?? 0)...]
    guard versions.contains(where: { $0.count == content.count }) else {
      return "\(content.count) bytes, not \(Set(versions.map(\.count)).sorted())"
    }
    for start in stride(from: 0, to: content.count, by: 4096) {
      let chunk = Array(content[start..<min(content.count, start + 4096)])
      let isKnown = versions.contains { version in
        // Past the end of a version there are zeros.
        let part = Array(version.dropFirst(start).prefix(chunk.count))
        return chunk == part + [UInt8](repeating: 0, count: chunk.count - part.count)
      }
      if !isKnown { return "chunk \(start / 4096) has \(Set(chunk)), which was never so" }
    }
    return nil
  }
}

/// Writes and syncs of three files, chosen by a seed.
private struct Writing {
  let volume: Volume
  var random: SplitMix64
  let caller: Caller
  var files = ["a", "b", "c"].map { WrittenFile(name: $0) }

  mutating func run(steps: Int) throws {
    var inodes: [InodeNumber] = []
    for file in files {
      let made = try volume.makeNode(
        FileName(file.name), in: .root, mode: 0o100644, device: 0, by: caller)
      inodes.append(made.inode)
    }
    for step in 0..<steps {
      let index = random.below(files.count)
      try self.step(index, inodes[index], fill: UInt8(step + 1))
    }
  }

  private mutating func step(_ index: Int, _ inode: InodeNumber, fill: UInt8) throws {
    switch random.below(10) {
    case 0..<5: try write(index, inode, fill)
    case 5: try truncate(index, inode)
    case 6: try volume.frameAll()
    case 7:
      guard random.chance(50) else { return }
      try volume.frameAll()
      try volume.engine.checkpoint()
    default:
      try volume.sync(inode, dataOnly: random.chance(50))
      files[index].synced = files[index].versions.count - 1
    }
  }

  private mutating func write(_ index: Int, _ inode: InodeNumber, _ fill: UInt8) throws {
    let offset = random.below(40_000)
    let bytes = [UInt8](repeating: fill, count: 1 + random.below(12_000))
    let end = offset + bytes.count
    change(index) { content in
      if content.count < end { content += [UInt8](repeating: 0, count: end - content.count) }
      content.replaceSubrange(offset..<end, with: bytes)
    }
    try volume.write(inode, Buffer(bytes).bytes, at: UInt64(offset), clearsSetID: false)
  }

  private mutating func truncate(_ index: Int, _ inode: InodeNumber) throws {
    let size = random.pick([0, 100, 4096, 10_000, 30_000])
    change(index) { content in
      content = content.prefix(size) + [UInt8](repeating: 0, count: max(0, size - content.count))
    }
    var change = AttributeChange()
    change.size = UInt64(size)
    _ = try volume.setAttributes(of: inode, change, by: caller)
  }

  /// Notes the next version, before it is written: a call that fails may have done all of it.
  private mutating func change(_ index: Int, _ body: (inout [UInt8]) -> Void) {
    var content = files[index].versions[files[index].versions.count - 1]
    body(&content)
    files[index].versions.append(content)
  }
}
