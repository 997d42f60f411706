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

  static let powerLoss = "power loss"

  /// Counts a call, and fails it if it is to fail.
  mutating func begin(_ kind: SimulatedCall.Kind, _ object: String) throws(DiskError) {
    if let stopAfter, steps >= stopAfter {
      throw DiskError(errno: .ioError, operation: Self.powerLoss, object: object)
    }
    let call = SimulatedCall(kind: kind, object: object, step: steps)
    counts[kind, default: 0] += 1
    if kind.isStep { steps += 1 }
    if let errno = fault?(call) {
      throw DiskError(errno: errno, operation: kind.rawValue, object: object)
    }
  }

  func fail(_ errno: Errno, _ kind: SimulatedCall.Kind, _ object: String) -> DiskError {
    DiskError(errno: errno, operation: kind.rawValue, object: object)
  }

  /// Bytes taken by files that have a name or are open.
  var used: Int {
    let named = Set(names.current.files.values)
    let live = files.filter { named.contains($0.key) || $0.value.handles > 0 }
    return live.values.reduce(0) { $0 + $1.current.pages.count } * SparseContent.pageSize
  }

  func hasRoom(forPages count: Int) -> Bool {
    guard let capacity, count > 0 else { return true }
    return used + count * SparseContent.pageSize <= capacity
  }

  mutating func addFile(_ content: SimulatedContent) -> Int {
    nextFile += 1
    files[nextFile] = content
    return nextFile
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
