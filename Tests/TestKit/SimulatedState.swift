import Disk
import POSIX

/// Everything a simulated disk is, under its one lock.
struct SimulatedState: Sendable {
  var names = SimulatedNames()
  var files: [Int: SimulatedContent] = [:]
  var nextFile = 0
  var steps = 0
  var stopAfter: Int?
  var fault: SimulatedFault?
  var capacity: Int?
  var punches = true
  var counts: [SimulatedCall.Kind: Int] = [:]
  var log: [SimulatedCall]?
  var closedUnsynced: Set<String> = []
  var recording: Recording?

  static let powerLoss = "power loss"

  /// Counts a call, and fails it if it is to fail.
  mutating func begin(
    _ kind: SimulatedCall.Kind, _ object: String, _ range: Range<UInt64>? = nil
  ) throws(DiskError) {
    if hasStopped { throw DiskError(errno: .ioError, operation: Self.powerLoss, object: object) }
    counts[kind, default: 0] += 1
    let call = SimulatedCall(
      kind: kind, object: object, step: steps, count: counts[kind, default: 0], range: range)
    log?.append(call)
    if kind.isStep {
      record()
      steps += 1
    }
    if let errno = fault?(call) {
      throw DiskError(errno: errno, operation: kind.rawValue, object: object)
    }
  }

  var hasStopped: Bool { stopAfter.map { steps >= $0 } ?? false }

  func fail(_ errno: Errno, _ kind: SimulatedCall.Kind, _ object: String) -> DiskError {
    DiskError(errno: errno, operation: kind.rawValue, object: object)
  }

  /// Bytes taken by files that have a name or are open.
  var used: Int {
    let named = Set(names.current.files.values)
    let live = files.filter { named.contains($0.key) || $0.value.handles > 0 }
    return live.values.reduce(0) { $0 + $1.current.pages.count } * SparseContent.pageSize
  }

  /// Pages that are free.
  var freePages: Int {
    guard let capacity else { return .max }
    return max(0, capacity - used) / SparseContent.pageSize
  }

  mutating func addFile(_ content: SimulatedContent) -> Int {
    nextFile += 1
    files[nextFile] = content
    return nextFile
  }

  /// One handle less. What is closed with changes that were not synced is noted: if the kernel
  /// failed to write them back, nobody would be told.
  mutating func close(_ number: Int, _ name: String) {
    files[number]?.handles -= 1
    guard let file = files[number], file.handles == 0 else { return }
    let isNamed = names.current.files.values.contains(number)
    if isNamed, !file.pending.isEmpty, !hasStopped { closedUnsynced.insert(name) }
    if !isNamed { forgetUnreachable() }
  }

  /// Drops files that nobody can reach any more.
  mutating func forgetUnreachable() {
    let gone = files.filter { $0.value.handles == 0 && !names.mentions($0.key) }.keys
    for file in gone { files[file] = nil }
  }

  /// The same disk without handles, counts and faults.
  var detached: SimulatedState {
    var copy = self
    for file in copy.files.keys { copy.files[file]?.handles = 0 }
    copy.forgetUnreachable()
    copy.steps = 0
    copy.stopAfter = nil
    copy.fault = nil
    copy.counts = [:]
    copy.log = nil
    copy.closedUnsynced = []
    copy.recording = nil
    return copy
  }

  /// The disk after a power loss.
  func crashed(seed: UInt64, _ mode: CrashMode) -> SimulatedState {
    // After a mere kill the kernel still has everything, synced or not.
    if mode == .keepAll { return detached }
    var random = SplitMix64(seed: seed)
    var state = detached
    let table = names.afterCrash(mode, &random)
    state.names = SimulatedNames(durable: table)
    state.files = [:]
    // In order, so that a seed always means the same.
    for file in Set(table.files.values).sorted() {
      guard let content = files[file] else { continue }
      state.files[file] = SimulatedContent(durable: content.afterCrash(mode, &random))
    }
    return state
  }
}
