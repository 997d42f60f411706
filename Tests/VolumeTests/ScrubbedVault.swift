import Bytes
import Crypto
import Disk
import Format
import POSIX
import TestKit
import Testing

@testable import Engine
@testable import Volume

/// A vault on a simulated disk, with something of everything in it, to be damaged and checked.
struct ScrubbedVault: ~Copyable {
  static let vault = [UInt8](repeating: 8, count: 16)
  let caller = Caller(user: 1000, group: 1000, mask: 0o022)
  let disk: SimulatedDisk
  private let master = SecretBytes(random: 32)

  static var options: EngineOptions {
    var options = EngineOptions()
    options.worksInBackground = false
    options.journalSegmentBytes = 256 << 10
    return options
  }

  init() throws {
    disk = SimulatedDisk()
    try Volume.create(
      on: disk, master: master, vault: Self.vault, options: Self.options, anchor: nil,
      owner: caller)
  }

  func open(_ other: SimulatedDisk? = nil, readOnly: Bool = false) throws -> Volume {
    var options = Self.options
    options.readOnly = readOnly
    return try Volume.open(
      on: other ?? disk, master: master, vault: Self.vault, options: options, anchor: nil)
  }

  /// What a check finds that changes nothing.
  func check(_ other: SimulatedDisk? = nil, quick: Bool = false) throws -> ScrubReport {
    let volume = try open(other, readOnly: true)
    var options = ScrubOptions()
    options.isQuick = quick
    let report = try volume.scrub(options)
    try volume.close()
    return report
  }

  /// Mends what can be mended, and tells what is left.
  func repair(_ other: SimulatedDisk? = nil) throws -> [Damage] {
    let volume = try open(other)
    var options = ScrubOptions()
    options.isQuick = true
    options.repairs = true
    var left: [Damage] = []
    for _ in 0..<4 { left = try volume.scrub(options).damages }
    try volume.close()
    return left
  }

  /// Directories of one leaf and of many, files with and without tables, links, attributes.
  func fill() throws {
    let volume = try open()
    let exports = try volume.makeDirectory(
      FileName("Exports"), in: .root, mode: 0o755, by: caller
    ).inode
    let csv = try make("a.csv", in: exports, volume)
    try volume.put(csv, Self.content(20 * 4096))
    _ = try volume.link(csv, as: FileName("same"), in: .root)
    let large = try make("large", in: exports, volume)
    try volume.put(large, Self.content(300 * 4096 + 17))
    let sparse = try make("sparse", in: exports, volume)
    try volume.put(sparse, [1, 2, 3], at: 3 << 30)
    try volume.setAttribute(
      Array("user.note".utf8), to: Self.content(5000), of: csv, .either, by: caller)
    _ = try volume.makeSymlink(
      FileName("link"), in: exports, target: [UInt8](repeating: 0x78, count: 300), by: caller)
    let many = try volume.makeDirectory(FileName("many"), in: .root, mode: 0o755, by: caller).inode
    for index in 0..<300 { _ = try make("file number \(index)", in: many, volume) }
    _ = try volume.makeDirectory(FileName("below"), in: many, mode: 0o755, by: caller)
    try volume.close()
  }

  private func make(
    _ name: String, in parent: InodeNumber, _ volume: Volume
  ) throws -> InodeNumber {
    try volume.makeNode(FileName(name), in: parent, mode: 0o100644, device: 0, by: caller).inode
  }

  static func content(_ count: Int) -> [UInt8] {
    (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 7 >> 2 ^ $0 >> 9) }
  }
}

extension Volume {
  /// The inode at a path.
  func find(_ path: String) throws -> InodeNumber {
    var number = InodeNumber.root
    for name in path.split(separator: "/") {
      number = try lookup(FileName(String(name)), in: number).inode
    }
    return number
  }

  /// Where a metadata page is stored, as of the last root.
  func slot(of page: PageID) throws -> UInt32 {
    try engine.store.tree.withRead { () throws(EngineError) in
      try engine.store.reference(of: page).slot
    }
  }

  func record(at path: String) throws -> InodeRecord { try record(of: try find(path).rawValue) }

  /// Where a chunk of a file is stored.
  func slot(of chunk: UInt64, in path: String) throws -> UInt32 {
    let record = try record(at: path)
    let found = try engine.read { (pages) throws(EngineError) in
      try ChunkTree.references(of: record, chunk..<(chunk + 1), in: pages)
    }
    return try #require(found.first).slot
  }

  /// The names a listing gives, and whether its end is an error.
  func list(_ path: String) throws -> (names: [String], isWhole: Bool) {
    let inode = try find(path)
    var names: [String] = []
    var cookie: UInt64 = 0
    while true {
      let before = names.count
      do throws(VolumeError) {
        try readDirectory(inode, after: cookie) { entry in
          names.append(String(decoding: entry.name, as: UTF8.self))
          cookie = entry.cookie
          return true
        }
      } catch { return (names, false) }
      if names.count == before { return (names, true) }
    }
  }
}

extension SimulatedDisk {
  /// Inverts a bit in a slot of metadata, in one copy or in both.
  func flip(meta slot: UInt32, copies: [String] = ["meta-a", "meta-b"]) {
    for copy in copies { flipBit(of: "\(copy)/0000", at: Int(slot) * 4096 * 8 + 777) }
  }

  func flip(data slot: UInt32) { flipBit(of: "data/0000", at: Int(slot) * 4096 * 8 + 9000) }
}

extension Damage {
  var text: String {
    let path = path.map { String(decoding: $0, as: UTF8.self) } ?? "-"
    let bytes = range.map { "\($0.lowerBound)-\($0.upperBound - 1)" } ?? "-"
    let place = slot.map { String($0) } ?? "-"
    return "\(kind) \(objects.joined(separator: "+")) \(place) \(path) \(bytes)"
  }
}
