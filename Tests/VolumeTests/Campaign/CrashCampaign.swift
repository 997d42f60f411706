import Disk
import Engine
import POSIX
import TestKit

@testable import Volume

/// One scenario with the power losses in it.
struct CrashCampaign {
  /// What a mount after a power loss showed.
  struct Outcome {
    var complaint: String?
    var listing: Listing?
    /// Steps of the disk that the mount took.
    var mountSteps = 0
    var moments: [SimulatedMoment] = []
  }

  static let operations = 60

  let seed: UInt64
  let flavour: CrashFlavour
  let oracle: CrashOracle
  /// Moments of the scenario, in order.
  let moments: [SimulatedMoment]

  /// Runs the scenario and keeps those of its moments that are wanted.
  init(seed: UInt64, wants: @escaping @Sendable (Int) -> Bool) throws {
    self.seed = seed
    flavour = CrashFlavour(seed: seed)
    let disk = try flavour.makeDisk()
    let volume = try flavour.open(disk)
    flavour.prepare(disk)
    let start = disk.steps
    disk.record { wants($0 - start) }
    var scenario = CrashScenario(on: disk, seed: seed, flavour: flavour, volume: volume)
    try scenario.run(steps: Self.operations)
    oracle = CrashOracle(scenario.history)
    moments = disk.takeMoments().map { $0.counted(from: start) }
  }

  /// Repeats one power loss, with those that follow it; nil if all is well.
  static func complaint(about point: CrashPoint) throws -> String? {
    let steps = point.cuts.map(\.step)
    let campaign = try CrashCampaign(seed: point.scenario) { $0 == steps.first }
    guard let moment = campaign.moments.first(where: { $0.step == steps.first }),
      let first = point.cuts.first
    else { return "the scenario does not come to step \(steps.first ?? 0)" }
    let mark = moment.mark
    var moments = [moment]
    var done: [CrashPoint.Cut] = []
    var before: Listing?
    for (index, cut) in point.cuts.enumerated() {
      guard let moment = moments.first(where: { $0.step == cut.step }) else {
        return "the mount does not come to step \(cut.step)"
      }
      done.append(cut)
      let next = steps.dropFirst(index + 1).first
      let outcome = campaign.mount(
        moment.crashed(seed: cut.seed, mode: cut.mode), mark: mark,
        isKill: CrashPoint(point.scenario, done).isKill, before: before
      ) { $0 == next }
      if let complaint = outcome.complaint { return complaint }
      if first.mode != .keepAll { before = outcome.listing }
      moments = outcome.moments
    }
    return nil
  }

  /// Mounts a disk after a power loss and looks at everything. `before` is what an earlier mount of
  /// the same disk showed.
  func mount(
    _ disk: SimulatedDisk, mark: Int, isKill: Bool, before: Listing?,
    wants: @escaping @Sendable (Int) -> Bool
  ) -> Outcome {
    var outcome = Outcome()
    do {
      disk.record(where: wants)
      let volume = try flavour.open(disk)
      outcome.mountSteps = disk.steps
      outcome.moments = disk.takeMoments()
      let listing = try VolumeDriver(volume).listing(attributes: true)
      outcome.listing = listing
      if let before, listing != before {
        outcome.complaint = "not what the mount before showed: \(listing.differences(from: before))"
      }
      outcome.complaint =
        outcome.complaint ?? oracle.complaint(about: listing, mark: mark, isKill: isKill)
      if outcome.complaint != nil { return outcome }
      outcome.complaint = try grown(volume) ?? volume.leaks(on: disk)
    } catch { outcome.complaint = "\(error)" }
    return outcome
  }

  /// Past the end of a file there are zeros once it grows.
  private func grown(_ volume: Volume) throws -> String? {
    let driver = VolumeDriver(volume)
    for entry in try driver.list(.root) where entry.type == FileMode.regular {
      let content = try driver.contents(of: entry.inode)
      let size = content.count + 5000
      let error = driver.attempt(.truncate([entry.name], to: size))
      if error?.errno == .noSpace, flavour.room != nil { continue }
      if let error { throw error }
      let found = try driver.contents(of: entry.inode)
      let expected = content + [UInt8](repeating: 0, count: 5000)
      if found != expected { return "\(Listing.text([entry.name])) does not grow with zeros" }
    }
    return nil
  }
}
