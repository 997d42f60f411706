import Bytes
import Crypto
import Disk
import Engine
import Format
import POSIX
import TestKit

@testable import Volume

/// A small vault with something of everything in it, made once.
final class FuzzVault: Sendable {
  static let shared: FuzzVault = {
    do { return try FuzzVault() } catch { preconditionFailure("the vault: \(error)") }
  }()

  let identifier = [UInt8](repeating: 9, count: 16)
  let master = SecretBytes(random: 32)
  /// Closed, as a mount leaves it.
  let start: SimulatedDisk
  let anchor: SimulatedDisk

  static let caller = Caller(user: 1000, group: 1000, mask: 0o022)

  static var options: EngineOptions {
    var options = EngineOptions()
    options.worksInBackground = false
    options.journalSegmentBytes = 256 << 10
    return options
  }

  private init() throws {
    let (disk, anchor) = (SimulatedDisk(), SimulatedDisk())
    try Volume.create(
      on: disk, master: master, vault: identifier, options: Self.options, anchor: anchor,
      owner: Self.caller)
    let volume = try Volume.open(
      on: disk, master: master, vault: identifier, options: Self.options, anchor: anchor)
    try Self.fill(volume)
    try volume.close()
    start = disk.snapshot()
    self.anchor = anchor.snapshot()
  }

  func open(_ disk: SimulatedDisk, anchor: SimulatedDisk? = nil) throws(EngineError) -> Volume {
    try Volume.open(
      on: disk, master: master, vault: identifier, options: Self.options, anchor: anchor)
  }

  static func path(_ name: String) -> Path { [Array(name.utf8)] }

  /// Inodes: 2 file, 3 sparse (tables and pointer pages), 4 directory of 300 names, then others.
  private static func fill(_ volume: Volume) throws(VolumeError) {
    let driver = VolumeDriver(volume)
    var operations: [Operation] = [
      .create(path("file")), .write(path("file"), at: 0, count: 20_000, fill: 1),
      .create(path("sparse")), .write(path("sparse"), at: 0, count: 5000, fill: 2),
      .write(path("sparse"), at: 600_000, count: 10, fill: 3),
      .write(path("sparse"), at: 1 << 33, count: 10, fill: 5), .makeDirectory(path("many")),
      .symlink(path("short"), target: Array("target".utf8)),
      .symlink(path("long"), target: [UInt8](repeating: 0x61, count: 3000)),
      .link(path("file"), as: path("hard")),
      .setAttribute(path("file"), Array("user.a".utf8), count: 100, fill: 7),
      .setAttribute(path("file"), Array("user.b".utf8), count: 9000, fill: 9),
      .makeDirectory(path("empty")), .create(path("gone")),
      .write(path("gone"), at: 0, count: 60_000, fill: 11),
    ]
    for number in 0..<300 {
      operations.append(.create(path("many") + path("a name of some length \(number)")))
    }
    for operation in operations {
      if let failure = driver.attempt(operation) { throw failure }
    }
    // A page of the audit log, and a part of another.
    let entries = (0..<40).map { number in
      AuditEntry(.expired(files: number), time: number, user: 7, program: Array("fuzz".utf8))
    }
    try volume.append(entries, isClosing: false)
    try volume.syncAll()
  }
}
