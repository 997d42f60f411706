import Bytes
import Disk
import Engine
import POSIX
import TestKit

@testable import Volume

/// Something a volume did while nothing had happened to it that a model does not do.
struct Disagreement: Error, CustomStringConvertible {
  let description: String
}

/// Everything that programs and threads do to a volume, chosen by a seed, one after the other.
struct CrashScenario {
  let disk: SimulatedDisk
  let flavour: CrashFlavour
  var volume: Volume
  var random: SplitMix64
  var history = CrashHistory()
  var handles: [OpenFile] = []
  private var generator: OperationGenerator

  /// A handle on a file. Once the file has no name, `orphan` is what is read through the handle.
  struct OpenFile {
    let inode: InodeNumber
    let node: Int
    var orphan: [UInt8]?
  }

  init(
    on disk: SimulatedDisk, seed: UInt64, flavour: CrashFlavour, volume: Volume
  ) {
    self.disk = disk
    self.volume = volume
    self.flavour = flavour
    random = SplitMix64(seed: seed)
    generator = OperationGenerator(
      seed: seed &+ 1 << 32, largest: flavour.largestFile, isWide: true)
  }

  /// Runs until `steps` are done, or a call fails because the disk did.
  mutating func run(steps: Int) throws {
    disk.setMark(history.mark)
    do {
      for _ in 0..<steps { try step() }
    } catch let error as VolumeError {
      guard flavour.hasFailed else { throw Disagreement(description: "\(error)") }
      try syncAfterFailure()
    }
    disk.keepMoment()
  }

  private mutating func step() throws {
    switch random.below(100) {
    case 0..<66: try apply(generator.next(in: history.tree))
    case 66..<71: try replace()
    case 71..<75: try open()
    case 75..<77: try release()
    case 77..<81: try changeOrphan()
    case 81..<86: try call(framed: everyFile) { try $0.frameAll() }
    case 86..<89: try call(isDurable: true) { try $0.engine.checkpoint() }
    case 89..<92: try call { if let failure = $0.reapOrphans() { throw failure } }
    case 92..<95: try call(isDurable: true) { try $0.syncDirectory(.root) }
    case 95..<98: try syncData()
    default: try reopen()
    }
  }

  var everyFile: [Int] { history.tree.files.map(\.number) }

  // MARK: - Operations

  mutating func apply(_ operation: Operation) throws {
    var next = history.tree
    let expected = next.apply(operation)
    let framed = framed(by: operation)
    begin(next)
    let error = VolumeDriver(volume).attempt(operation)
    if error?.errno == .noSpace, flavour.room != nil {
      guard operation.mayBeRefused else {
        throw Disagreement(description: "a full disk refused \(operation)")
      }
      history.refuse()
    } else {
      if let error, flavour.hasFailed { throw error }
      guard error?.errno == expected else {
        let found = error.map { "\($0)" } ?? "went well"
        throw Disagreement(
          description: "\(operation) \(found), not \(expected.map { "\($0)" } ?? "well")")
      }
      history.finish(
        framed: error == nil ? framed : [], isDurable: error == nil && operation.isSync)
    }
    disk.setMark(history.mark)
    noteOrphans(before: history.states[history.states.count - 2])
  }

  /// A call that changes nothing to be seen.
  mutating func call(
    framed: [Int] = [], isDurable: Bool = false, _ body: (Volume) throws -> Void
  ) throws {
    begin(history.tree)
    do { try body(volume) } catch let error as EngineError { throw VolumeError(error) }
    history.finish(framed: framed, isDurable: isDurable)
    disk.setMark(history.mark)
  }

  mutating func begin(_ next: ModelVolume) {
    history.begin(next)
    disk.setMark(history.mark)
  }

  /// Files whose contents are in a frame when the operation is done.
  private func framed(by operation: Operation) -> [Int] {
    let tree = history.tree
    switch operation {
    case .sync([]): return everyFile
    case .sync(let path), .truncate(let path, _):
      return tree.number(of: path).map { [$0] } ?? []
    case .allocate(let path, let range), .zero(let path, let range):
      guard let number = tree.number(of: path), let size = try? tree.size(of: path) else {
        return []
      }
      return range.upperBound > size ? [number] : []
    case .rename(let path, let newPath, let mode):
      guard mode != .noReplace, tree.number(of: newPath) != nil else { return [] }
      return tree.number(of: path).map { [$0] } ?? []
    default: return []
    }
  }

  /// A failed sync was told. What is called synced from now on must be.
  private mutating func syncAfterFailure() throws {
    if (try? volume.syncAll()) != nil {
      for number in everyFile { history.syncedAfterFailure(number) }
      disk.setMark(history.mark)
    }
    for (path, number) in history.tree.files {
      guard let inode = try? VolumeDriver(volume).find(path) else { continue }
      do { try volume.sync(inode, dataOnly: false) } catch { continue }
      history.syncedAfterFailure(number)
      disk.setMark(history.mark)
    }
  }
}

extension Operation {
  /// Whether a full disk may refuse it.
  var mayBeRefused: Bool {
    switch self {
    case .unlink, .removeDirectory, .sync: false
    default: true
    }
  }
}
