import Bytes
import Engine
import Format
import POSIX
import TestKit

@testable import Engine
@testable import Volume

/// Fills the specimen: every kind of stored thing, sizes at the edges of a chunk.
struct Planting {
  private let volume: Volume
  private let driver: VolumeDriver

  init(_ volume: Volume) {
    self.volume = volume
    driver = VolumeDriver(volume)
  }

  static let sizes = [0, 1, 4095, 4096, 4097, 12289, 2 << 20]
  /// The first chunk of a file below two levels of pointer pages.
  static let far: UInt64 = 1 << 40

  private func path(_ text: String) -> Path {
    text.split(separator: "/").map { Array($0.utf8) }
  }

  private func run(_ operation: Operation) throws(VolumeError) {
    if let error = driver.attempt(operation) { throw error }
  }

  private func write(_ text: String, at offset: Int, count: Int, fill: UInt64) throws {
    try run(.write(path(text), at: offset, count: count, fill: fill))
  }

  private func make(_ text: String, _ mode: UInt32) throws {
    let whole = path(text)
    let parent = try driver.find(Array(whole.dropLast()))
    _ = try volume.makeNode(
      FileName(whole[whole.count - 1]), in: parent, mode: mode, device: 0, by: driver.caller)
  }

  /// The first session.
  func first() throws {
    for folder in ["files", "deep", "deep/er", "deep/er/still", "many", "desk"] {
      try run(.makeDirectory(path(folder)))
    }
    for (index, size) in Self.sizes.enumerated() {
      try make("files/\(size)", 0o100640)
      if size > 0 { try write("files/\(size)", at: 0, count: size, fill: UInt64(3 + index)) }
    }
    try plantSparse()
    try plantAttributes()
    for index in 0..<200 { try make("many/a name that takes some room, number \(index)", 0o100600) }
    try make("deep/er/still/pipe", FileMode.fifo | 0o600)
    try make("deep/er/still/last", 0o100600)
    try write("deep/er/still/last", at: 0, count: 5000, fill: 77)
    try make("desk/old", 0o100600)
    try write("desk/old", at: 0, count: 9000, fill: 78)
    try volume.syncAll()
  }

  private func plantSparse() throws {
    try make("files/sparse", 0o100600)
    try write("files/sparse", at: 600 << 10, count: 5000, fill: 21)
    try run(.truncate(path("files/sparse"), to: 700 << 10))
    try make("files/far", 0o100600)
    try write("files/far", at: Int(Self.far), count: 8192, fill: 22)
    try write("files/far", at: 3 * (256 << 10), count: 4096, fill: 23)
  }

  private func plantAttributes() throws {
    try run(.symlink(path("files/short"), target: Array("files/4096".utf8)))
    let long = [UInt8](repeating: 0x2e, count: 300)
    try run(.symlink(path("files/long"), target: long))
    try run(.setAttribute(path("files/4097"), Array("user.small".utf8), count: 20, fill: 31))
    try run(.setAttribute(path("files/4096"), Array("user.large".utf8), count: 9000, fill: 32))
    try run(.setAttribute(path("deep/er"), Array("user.folder".utf8), count: 5000, fill: 33))
  }

  /// The second session: an older version of each kind of thing is left behind.
  func second() throws {
    try write("files/\(2 << 20)", at: 1 << 20, count: 8192, fill: 41)
    try write("files/4096", at: 0, count: 4096, fill: 42)
    try write("files/sparse", at: 600 << 10, count: 4096, fill: 43)
    try run(.setAttribute(path("files/4096"), Array("user.large".utf8), count: 9000, fill: 44))
    try run(.unlink(path("files/long")))
    try run(.symlink(path("files/long"), target: [UInt8](repeating: 0x2f, count: 400)))
    try run(.rename(path("deep/er/still/last"), to: path("deep/last"), .replace))
    for index in 0..<30 {
      try run(.unlink(path("many/a name that takes some room, number \(index)")))
    }
    try make("many/new", 0o100600)
    try volume.syncAll()
  }

  /// The third session, one frame at a time; some are synced before the next, some are not.
  func third() throws -> [Specimen.Moment] {
    var moments: [Specimen.Moment] = []
    func note(synced: Bool) throws {
      guard let journal = volume.engine.journal else { return }
      let tree = try Tree(volume)
      let sequence = journal.position.sequence - 1
      moments.append(Specimen.Moment(sequence: sequence, tree: tree, isAfterSync: synced))
    }
    try volume.syncAll()
    try note(synced: true)
    for (index, operation) in frames.enumerated() {
      try run(operation)
      // A frame of contents comes with the sync.
      let isContents = if case .write = operation { true } else { false }
      let synced = isContents || index % 3 == 0
      if synced { try volume.syncAllCarried() }
      try note(synced: synced)
    }
    return moments
  }

  private var frames: [Operation] {
    [
      .makeDirectory(path("desk/frames")), .create(path("desk/frames/a")),
      .write(path("desk/frames/a"), at: 0, count: 6000, fill: 51), .create(path("desk/frames/b")),
      .rename(path("desk/frames/b"), to: path("desk/frames/c"), .replace),
      .setAttribute(path("desk/frames/a"), Array("user.k".utf8), count: 6000, fill: 52),
      .unlink(path("many/new")), .write(path("desk/old"), at: 4096, count: 4096, fill: 53),
      .symlink(path("desk/frames/s"), target: Array("a".utf8)),
      .makeDirectory(path("desk/frames/d")), .create(path("desk/frames/d/e")),
      .removeAttribute(path("desk/frames/a"), Array("user.k".utf8)),
      .write(path("desk/frames/a"), at: 8192, count: 4096, fill: 54),
    ]
  }
}

extension Volume {
  /// Syncs what is pending as fsync(2) of each file does: a few chunks travel in the frame.
  fileprivate func syncAllCarried() throws(VolumeError) {
    for number in nodes.pending { try sync(InodeNumber(rawValue: number), dataOnly: false) }
    try answer { () throws(EngineError) in try engine.syncJournal() }
  }
}
