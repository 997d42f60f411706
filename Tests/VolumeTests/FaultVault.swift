import Crypto
import Engine
import POSIX
import TestKit

@testable import Volume

/// A vault that was killed, and what is to be done to it next: the same for every fault.
struct FaultVault: ~Copyable {
  enum Step {
    case operation(Operation)
    case checkpoint
    case reap
  }

  /// As the kill left it, everything synced.
  let start: SimulatedDisk
  let model: ModelVolume
  let steps: [Step]
  private let master = SecretBytes(random: 32)
  private let vault = [UInt8](repeating: 8, count: 16)

  init(seed: UInt64) throws {
    let disk = SimulatedDisk()
    try Volume.create(
      on: disk, master: master, vault: vault, options: Self.options, anchor: nil,
      owner: Caller(user: 1000, group: 1000, mask: 0o022))
    let volume = try Volume.open(
      on: disk, master: master, vault: vault, options: Self.options, anchor: nil)
    var model = ModelVolume()
    var generator = OperationGenerator(seed: seed, largest: 40 * 4096)
    for _ in 0..<40 {
      let operation = generator.next(in: model)
      if model.apply(operation) == nil { _ = VolumeDriver(volume).attempt(operation) }
    }
    if let failure = VolumeDriver(volume).attempt(.sync([])) { throw failure }
    start = disk.crashed(seed: 0, mode: .keepAll)
    self.model = model
    var steps: [Step] = []
    for number in 1...50 {
      let operation = number % 6 == 0 ? Operation.sync([]) : generator.next(in: model)
      model.apply(operation)
      steps.append(.operation(operation))
      if number == 20 || number == 35 { steps.append(.checkpoint) }
      if number == 30 { steps.append(.reap) }
    }
    self.steps = steps
  }

  static var options: EngineOptions {
    var options = EngineOptions()
    options.worksInBackground = false
    options.journalSegmentBytes = 512 << 10
    options.cacheBytes = 0
    return options
  }

  func open(_ disk: SimulatedDisk) throws(EngineError) -> Volume {
    try Volume.open(on: disk, master: master, vault: vault, options: Self.options, anchor: nil)
  }
}
