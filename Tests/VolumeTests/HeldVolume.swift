import Bytes
import Crypto
import Disk
import Engine
import POSIX
import TestKit

@testable import Volume

/// A volume without threads on a disk whose calls can be held.
struct HeldVolume: ~Copyable {
  static let vault = [UInt8](repeating: 6, count: 16)
  let caller = Caller(user: 1000, group: 1000, mask: 0o022)
  let disk = SimulatedDisk()
  let held: HeldDisk
  let volume: Volume
  private let master = SecretBytes(random: 32)

  static var options: EngineOptions {
    var options = EngineOptions()
    options.worksInBackground = false
    options.journalSegmentBytes = 512 << 10
    return options
  }

  init() throws {
    held = HeldDisk(disk)
    try Volume.create(
      on: held, master: master, vault: Self.vault, options: Self.options, anchor: nil,
      owner: caller)
    volume = try Volume.open(
      on: held, master: master, vault: Self.vault, options: Self.options, anchor: nil)
  }

  /// What another process finds on a disk.
  func open(_ disk: SimulatedDisk) throws -> Volume {
    try Volume.open(
      on: disk, master: master, vault: Self.vault, options: Self.options, anchor: nil)
  }

  func make(_ name: String) throws -> InodeNumber {
    try volume.makeNode(FileName(name), in: .root, mode: 0o100644, device: 0, by: caller).inode
  }

  func resize(_ inode: InodeNumber, to size: UInt64) throws {
    var change = AttributeChange()
    change.size = size
    _ = try volume.setAttributes(of: inode, change, by: caller)
  }

  static func bytes(_ fill: UInt8, _ count: Int) -> [UInt8] {
    [UInt8](repeating: fill, count: count)
  }
}
