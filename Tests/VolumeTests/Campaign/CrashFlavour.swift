import Bytes
import Crypto
import Disk
import Engine
import POSIX
import TestKit

@testable import Volume

/// What is special about the vault and the disk of a scenario.
struct CrashFlavour {
  private static let vault = [UInt8](repeating: 3, count: 16)
  private let seed: UInt64
  private let fullness: Int
  private let failingSync: FailingSync?

  /// One sync that fails: the how-manieth of the objects whose names begin so.
  private final class FailingSync: Sendable {
    private let prefix: String
    private let left: Lock<Int>

    init(_ prefix: String, number: Int) {
      self.prefix = prefix
      left = Lock(number)
    }

    var hasFailed: Bool { left.withLock { $0 <= 0 } }

    func fails(_ call: SimulatedCall) -> Bool {
      guard call.kind == .sync, call.object.hasPrefix(prefix) else { return false }
      return left.withLock { left in
        left -= 1
        return left == 0
      }
    }
  }

  init(seed: UInt64) {
    self.seed = seed
    var random = SplitMix64(seed: seed ^ 0x5eed)
    fullness = random.below(100)
    switch seed % 16 {
    case 5: failingSync = FailingSync("data/", number: 1 + random.below(4))
    case 13: failingSync = FailingSync("", number: 3 + random.below(40))
    default: failingSync = nil
    }
  }

  /// Pages there is room for on a disk that is nearly full.
  var room: Int? { seed % 8 == 3 ? 20 + fullness : nil }

  private var rekeys: Bool { seed % 8 == 1 || seed % 8 == 7 }

  /// Beyond 3 chunks a file has a table, beyond 131 a pointer page.
  var largestFile: Int { (seed % 4 == 2 ? 140 : 24) * 4096 }

  private var options: EngineOptions {
    var options = EngineOptions()
    options.worksInBackground = false
    options.journalSegmentBytes = 256 << 10
    options.cacheBytes = seed % 2 == 0 ? 1 << 20 : 64 << 12
    if rekeys {
      options.sealsPerKey = 60
      options.rekeyBatch = 8
    }
    return options
  }

  /// Always the same, so that a scenario takes the same steps.
  private var master: SecretBytes { SecretBytes(copying: Buffer([UInt8](0..<32)).bytes) }

  /// A disk with an empty vault and, in the same place, its anchor.
  func makeDisk() throws -> SimulatedDisk {
    let disk = SimulatedDisk()
    try Volume.create(
      on: disk, master: master, vault: Self.vault, options: options, anchor: disk,
      owner: Caller(user: 1000, group: 1000, mask: 0o022))
    disk.punches = seed % 16 != 4
    return disk.snapshot()
  }

  func open(_ disk: SimulatedDisk) throws(EngineError) -> Volume {
    try Volume.open(on: disk, master: master, vault: Self.vault, options: options, anchor: disk)
  }

  /// Takes away the room, and makes one sync fail, once the volume is mounted.
  func prepare(_ disk: SimulatedDisk) {
    if let room { disk.capacity = disk.used + room * 4096 }
    if let failingSync { disk.fault = { failingSync.fails($0) ? .ioError : nil } }
  }

  /// Whether the sync has failed that is to fail.
  var hasFailed: Bool { failingSync?.hasFailed ?? false }
}
