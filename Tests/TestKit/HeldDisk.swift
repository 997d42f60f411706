package import Disk
import POSIX

/// A disk on which a test holds a chosen call for as long as it likes, so that a race has one
/// outcome.
package final class HeldDisk: Disk {
  package let inner: SimulatedDisk
  private let gates = Lock<[Gate]>([])

  package init(_ inner: SimulatedDisk) { self.inner = inner }

  /// Holds the next call of a kind on an object whose name begins so: before it is done, or after,
  /// before it returns.
  package func hold(
    _ kind: SimulatedCall.Kind, of object: String, _ moment: Gate.Moment
  ) -> Gate {
    let gate = Gate(kind, object, moment)
    gates.withLock { $0.append(gate) }
    return gate
  }

  func call<R>(
    _ kind: SimulatedCall.Kind, _ object: String, _ body: () throws(DiskError) -> R
  ) throws(DiskError) -> R {
    let gate = begin(kind, object)
    defer { end(gate) }
    return try body()
  }

  func begin(_ kind: SimulatedCall.Kind, _ object: String) -> Gate? {
    let gate = gates.withLock { gates -> Gate? in
      let index = gates.firstIndex { $0.kind == kind && object.hasPrefix($0.object) }
      return index.map { gates.remove(at: $0) }
    }
    if let gate, gate.moment == .before { gate.pass() }
    return gate
  }

  func end(_ gate: Gate?) {
    if let gate, gate.moment == .after { gate.pass() }
  }

  package func open(_ name: String, writable: Bool) throws(DiskError) -> any DiskFile {
    HeldFile(self, try inner.open(name, writable: writable), name)
  }

  package func create(_ name: String) throws(DiskError) -> any DiskFile {
    HeldFile(self, try inner.create(name), name)
  }

  package func createFolder(_ name: String) throws(DiskError) { try inner.createFolder(name) }
  package func remove(_ name: String) throws(DiskError) { try inner.remove(name) }
  package func rename(_ name: String, to newName: String) throws(DiskError) {
    try inner.rename(name, to: newName)
  }
  package func list(_ folder: String) throws(DiskError) -> [String] { try inner.list(folder) }
  package func syncFolder(_ folder: String) throws(DiskError) { try inner.syncFolder(folder) }
  package func space() throws(DiskError) -> DiskSpace { try inner.space() }
}

/// Where one call waits until the test lets it go on.
package final class Gate: Sendable {
  package enum Moment: Sendable { case before, after }

  private struct State {
    var isReached = false
    var isOpen = false
  }

  let kind: SimulatedCall.Kind
  let object: String
  let moment: Moment
  private let state = Monitor(State())
  /// A test that is wrong fails instead of waiting for ever.
  private static let patience: UInt64 = 20_000_000_000

  init(_ kind: SimulatedCall.Kind, _ object: String, _ moment: Moment) {
    self.kind = kind
    self.object = object
    self.moment = moment
  }

  func pass() {
    state.withLock { $0.isReached = true }
    state.withLock(when: { $0.isOpen }, timeout: Self.patience) { _ in }
  }

  /// Waits until the call is held; false if it does not come.
  package func waitUntilReached() -> Bool {
    state.withLock(when: { $0.isReached }, timeout: Self.patience) { $0.isReached }
  }

  package func open() { state.withLock { $0.isOpen = true } }
}

/// An open object of a held disk.
private final class HeldFile: DiskFile {
  private let disk: HeldDisk
  private let file: any DiskFile
  private let name: String

  init(_ disk: HeldDisk, _ file: any DiskFile, _ name: String) {
    self.disk = disk
    self.file = file
    self.name = name
  }

  func read(into span: inout MutableRawSpan, at offset: UInt64) throws(DiskError) -> Int {
    let gate = disk.begin(.read, name)
    defer { disk.end(gate) }
    return try file.read(into: &span, at: offset)
  }

  func write(_ span: RawSpan, at offset: UInt64) throws(DiskError) {
    try disk.call(.write, name) { () throws(DiskError) in try file.write(span, at: offset) }
  }

  func sync() throws(DiskError) {
    try disk.call(.sync, name) { () throws(DiskError) in try file.sync() }
  }

  func allocate(_ range: Range<UInt64>) throws(DiskError) { try file.allocate(range) }
  func punch(_ range: Range<UInt64>) throws(DiskError) -> Bool { try file.punch(range) }
  func size() throws(DiskError) -> UInt64 { try file.size() }
  func resize(_ size: UInt64) throws(DiskError) { try file.resize(size) }
}
