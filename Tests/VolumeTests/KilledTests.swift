import Engine
import POSIX
import TestKit
import Testing

@testable import Volume

/// The daemon is killed, the vault opened again, and then the power lost.
///
/// After a kill the kernel still shows what was written and never synced. Who goes on from there
/// must make it last before anything that it replaces is given up.
@Suite struct KilledTests {
  private static let isSoak = System.environment("COFFRE_SOAK") == "1"

  @Test(arguments: 0..<2 as Range<UInt64>) func powerLossAfterAKill(seed: UInt64) throws {
    let vault = try FaultVault(seed: seed)
    let total = try play(vault, stopAfter: nil).disk.steps
    var random = SplitMix64(seed: seed)
    var point = 1 + random.below(10)
    while point < total {
      let (disk, since) = try play(vault, stopAfter: point)
      let killed = disk.crashed(seed: 0, mode: .keepAll)
      let probe = killed.snapshot()
      _ = try vault.open(probe)
      var step = random.below(4)
      while step <= probe.steps {
        let again = killed.snapshot()
        again.stopAfter = step
        _ = try? vault.open(again)
        for mode in [CrashMode.dropAll, .random] {
          let left = again.crashed(seed: random.next(), mode: mode)
          let complaint = complaint(about: left, since, vault)
          #expect(complaint == nil, "seed \(seed) killed at \(point), \(mode) at \(step)")
          if complaint != nil { return }
        }
        step += Self.isSoak ? 1 : 1 + random.below(30)
      }
      point += 1 + random.below(Self.isSoak ? 8 : total / 2)
    }
  }

  /// Until the disk stops; and the trees there may be since everything was synced last.
  private func play(
    _ vault: borrowing FaultVault, stopAfter: Int?
  ) throws -> (disk: SimulatedDisk, since: [ModelVolume]) {
    let disk = vault.start.snapshot()
    disk.stopAfter = stopAfter
    var model = vault.model
    var since = [model]
    guard let volume = try? vault.open(disk) else { return (disk, since) }
    for step in vault.steps {
      guard case .operation(let operation) = step else {
        try? volume.engine.checkpoint()
        continue
      }
      let errno = VolumeDriver(volume).apply(operation)
      let expected = model.apply(operation)
      since.append(model)
      if errno != expected {
        try #require(stopAfter != nil, "\(operation)")
        break
      }
      if operation == .sync([]) { since = [model] }
    }
    return (disk, since)
  }

  private func complaint(
    about disk: SimulatedDisk, _ since: [ModelVolume], _ vault: borrowing FaultVault
  ) -> String? {
    do {
      let found = try VolumeDriver(try vault.open(disk)).listing()
      let lost = FaultRun.settled(since).first { found.entries[$0.key] != $0.value }
      return lost.map {
        "\($0.key): \($0.value.summary) <> \(found.entries[$0.key]?.summary ?? "")"
      }
    } catch { return "\(error)" }
  }
}
