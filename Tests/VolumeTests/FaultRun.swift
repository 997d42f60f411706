import Engine
import POSIX
import TestKit

@testable import Volume

/// The steps of a `FaultVault` with one fault, and what must hold whenever it comes.
///
/// An operation that fails for the fault may have been done or not: `candidates` are the trees that
/// there may be. Once the fault is gone the volume shows one of them.
struct FaultRun {
  let plan: FaultPlan
  let disk: SimulatedDisk
  private let steps: [FaultVault.Step]
  private var candidates: [ModelVolume]
  /// Trees since everything was synced last, that one included.
  private var since: [ModelVolume]
  private var failures = 0
  private var isHealed = false
  private(set) var isReadOnly = false
  private(set) var complaints: [String] = []
  private static let faults: Set<Errno> = [.ioError, .noSpace, .overQuota, .readOnly]

  init(_ plan: FaultPlan, _ vault: borrowing FaultVault) {
    self.plan = plan
    disk = vault.start.snapshot()
    steps = vault.steps
    candidates = [vault.model]
    since = [vault.model]
    disk.fault = plan.hook
  }

  mutating func run(_ vault: borrowing FaultVault) {
    guard let volume = open(vault) else { return }
    for (index, step) in steps.enumerated() where complaints.isEmpty && !isReadOnly {
      perform(step, volume, vault, "step \(index)")
      if failures >= (plan.lasts ? 4 : 1) { heal(volume, vault, "step \(index)") }
    }
    if complaints.isEmpty && !isHealed { heal(volume, vault, "the end") }
    if complaints.isEmpty { finish(volume, vault) }
  }

  private mutating func complain(_ text: String) {
    let call = plan.failed.map { "\($0.kind.rawValue) of \($0.object)" } ?? "no call"
    complaints.append("\(text); failed: \(call)")
  }

  /// A mount that fails for the fault has lost nothing, and goes on when the fault is gone.
  private mutating func open(_ vault: borrowing FaultVault) -> Volume? {
    do throws(EngineError) { return try vault.open(disk) } catch {
      if plan.failed == nil { complain("does not mount: \(error)") }
    }
    plan.heal()
    isHealed = true
    expect(disk.crashed(seed: 1, mode: .dropAll), vault, exactly: true, "a failed mount")
    do throws(EngineError) { return try vault.open(disk) } catch {
      complain("does not mount after the fault: \(error)")
      return nil
    }
  }

  // MARK: - Steps

  private mutating func perform(
    _ step: FaultVault.Step, _ volume: Volume, _ vault: borrowing FaultVault, _ what: String
  ) {
    switch step {
    case .operation(let operation):
      let error = VolumeDriver(volume).attempt(operation)
      note(operation, error, "\(what) \(operation)")
      if case .sync(let path) = operation, error == nil {
        if path.isEmpty { since = candidates }
        if plan.failed != nil { expectSynced(path, vault, what) }
      }
    case .checkpoint:
      do throws(EngineError) { try volume.engine.checkpoint() } catch { failed("\(error)", what) }
    case .reap:
      if let error = volume.reapOrphans() { failed("\(error)", what) }
    }
  }

  private mutating func failed(_ error: String, _ what: String) {
    failures += 1
    if plan.failed == nil || isHealed { complain("\(what): \(error) without a fault") }
  }

  /// Works out which trees there may be after an operation.
  private mutating func note(_ operation: Operation, _ error: VolumeError?, _ what: String) {
    let outcomes = candidates.map { model -> (before: ModelVolume, after: ModelVolume, Errno?) in
      var after = model
      let errno = after.apply(operation)
      return (model, after, errno)
    }
    let agreeing = outcomes.filter { $0.2 == error?.errno }.map { $0.after }
    if let error, Self.faults.contains(error.errno) {
      failed("\(error)", what)
      candidates += outcomes.filter { $0.2 == nil }.map { $0.after }
    } else {
      candidates = agreeing
      if agreeing.isEmpty { complain("\(what): \(error.map { "\($0)" } ?? "done")") }
    }
    since += candidates
  }

  /// After the fault: everything reads, as one of the trees; it works on or says why not.
  private mutating func heal(_ volume: Volume, _ vault: borrowing FaultVault, _ what: String) {
    if isHealed { return }
    plan.heal()
    isHealed = true
    failures = 0
    expect(volume, among: candidates, "\(what), healed")
    let error = VolumeDriver(volume).attempt(.sync([]))
    if error == nil {
      since = candidates
      expectSynced([], vault, "\(what), healed and synced")
      if !volume.isReadOnly { return }
    }
    isReadOnly = true
    switch VolumeDriver(volume).attempt(.create([[0x7a]])) {
    case .readOnly(let reason):
      if reason.split(separator: " ").count < 3 { complain("no clear reason: \(reason)") }
    case let other:
      complain(
        "\(what): after the fault neither writable nor read-only: "
          + "\(error.map { "\($0)" } ?? "synced"), then \(other.map { "\($0)" } ?? "made")")
    }
  }

  private mutating func finish(_ volume: Volume, _ vault: borrowing FaultVault) {
    if !isReadOnly, let error = VolumeDriver(volume).attempt(.sync([])) {
      complain("the last sync: \(error)")
    }
    if !isReadOnly { since = candidates }
    do throws(VolumeError) { try volume.close() } catch {
      if !isReadOnly { complain("close: \(error)") }
    }
    for mode in [CrashMode.keepAll, .dropAll, .random] {
      let left = disk.crashed(seed: UInt64(plan.seen), mode: mode)
      expect(left, vault, exactly: !isReadOnly, "closed, \(mode)")
    }
  }

  // MARK: - Checks

  private mutating func expect(
    _ volume: Volume, among models: [ModelVolume], _ what: String
  ) {
    do {
      let found = try VolumeDriver(volume).listing()
      if let index = models.firstIndex(where: { $0.listing == found }) {
        candidates = [models[index]]
        return
      }
      let expected = models.first?.listing ?? Listing()
      complain("\(what): \(found.differences(from: expected))")
    } catch { complain("\(what): unreadable: \(error)") }
  }

  /// What a sync called good is there after a power loss.
  private mutating func expectSynced(
    _ path: Path, _ vault: borrowing FaultVault, _ what: String
  ) {
    let crashed = disk.crashed(seed: UInt64(plan.seen), mode: .dropAll)
    if path.isEmpty { return expect(crashed, vault, exactly: true, what) }
    do {
      let found = try VolumeDriver(try vault.open(crashed)).listing().entries[Listing.text(path)]
      let expected = candidates.map { $0.listing.entries[Listing.text(path)] }
      if !expected.contains(found) {
        complain(
          "\(what): lost \(found?.summary ?? "the name") <> \(expected.first??.summary ?? "")")
      }
    } catch { complain("\(what): after a power loss: \(error)") }
  }

  /// A disk that another process finds: it mounts and everything reads. `exactly`: as one of the
  /// trees; else what no tree since the last sync has changed is there.
  private mutating func expect(
    _ left: SimulatedDisk, _ vault: borrowing FaultVault, exactly: Bool, _ what: String
  ) {
    do {
      let volume = try vault.open(left)
      if exactly {
        let kept = candidates
        expect(volume, among: candidates, what)
        candidates = kept
      } else {
        let found = try VolumeDriver(volume).listing()
        let lost = Self.settled(since).filter { found.entries[$0.key] != $0.value }
        if let (path, entry) = lost.first {
          complain("\(what): \(path) \(entry.summary) <> \(found.entries[path]?.summary ?? "-")")
        }
      }
      try volume.close()
    } catch { complain("\(what): \(error)") }
  }

  /// What is the same in all of some trees.
  static func settled(_ models: [ModelVolume]) -> [String: Listing.Entry] {
    guard var same = models.first?.listing.entries else { return [:] }
    for model in models.dropFirst() {
      let other = model.listing.entries
      same = same.filter { other[$0.key] == $0.value }
    }
    return same
  }
}
