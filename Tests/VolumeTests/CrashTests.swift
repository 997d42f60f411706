import Bytes
import Crypto
import Disk
import Engine
import POSIX
import TestKit
import Testing

@testable import Volume

/// What a scenario saw: the tree after each step, and from which step on everything is durable.
private struct History {
  typealias Tree = [String: [UInt8]?]  // nil: a directory
  var trees: [Tree] = [[:]]
  var durable = 0
}

/// Operations on a volume chosen by a seed, with the tree kept beside it.
private struct Scenario {
  let volume: Volume
  var random: SplitMix64
  var history = History()
  var inodes: [String: InodeNumber] = [:]
  let caller = Caller(user: 0, group: 0, mask: 0)

  init(volume: Volume, seed: UInt64) {
    self.volume = volume
    random = SplitMix64(seed: seed)
  }

  mutating func run(steps: Int) throws {
    for _ in 0..<steps {
      var tree = history.trees[history.trees.count - 1]
      let isDurable = try step(&tree)
      history.trees.append(tree)
      if isDurable { history.durable = history.trees.count - 1 }
    }
  }

  private mutating func step(_ tree: inout History.Tree) throws -> Bool {
    let names = ["a", "b", "c", "d"]
    let name = names[Int.random(in: 0..<names.count, using: &random)]
    let file = try FileName(name)
    let isFile = tree[name].map { $0 != nil } ?? false
    switch Int.random(in: 0..<14, using: &random) {
    case 0, 1, 2:
      guard tree[name] == nil else { return false }
      let made = try volume.makeNode(
        file, in: .root, mode: 0o100644, device: 0, by: caller)
      inodes[name] = made.inode
      tree[name] = .some([])
    case 3, 4, 5, 6: try write(name, isFile, &tree)
    case 7: try truncate(name, isFile, &tree)
    case 8:
      guard isFile else { return false }
      try volume.unlink(file, in: .root)
      tree[name] = nil
      inodes[name] = nil
    case 9: try rename(name, names, &tree)
    case 10:
      guard isFile, let inode = inodes[name] else { return false }
      try volume.sync(inode, dataOnly: false)
    case 11:
      try volume.syncAll()
      return true
    case 12:
      try volume.frameAll()
      try volume.engine.checkpoint()
      return true
    default: if let failure = volume.reapOrphans() { throw failure }
    }
    return false
  }

  private mutating func write(
    _ name: String, _ isFile: Bool, _ tree: inout History.Tree
  ) throws {
    guard isFile, let inode = inodes[name], var content = tree[name].flatMap({ $0 }) else {
      return
    }
    let offset = Int.random(in: 0..<30_000, using: &random)
    let length = Int.random(in: 1..<12_000, using: &random)
    let byte = UInt8.random(in: 1...255, using: &random)
    let bytes = [UInt8](repeating: byte, count: length)
    try volume.write(inode, Buffer(bytes).bytes, at: UInt64(offset), clearsSetID: false)
    if content.count < offset + length {
      content += [UInt8](repeating: 0, count: offset + length - content.count)
    }
    content.replaceSubrange(offset..<(offset + length), with: bytes)
    tree[name] = .some(content)
  }

  private mutating func truncate(
    _ name: String, _ isFile: Bool, _ tree: inout History.Tree
  ) throws {
    guard isFile, let inode = inodes[name], var content = tree[name].flatMap({ $0 }) else {
      return
    }
    let sizes = [0, 4096, 8192, 10_000, 50_000]
    let size = sizes[Int.random(in: 0..<sizes.count, using: &random)]
    var change = AttributeChange()
    change.size = UInt64(size)
    _ = try volume.setAttributes(of: inode, change, by: caller)
    if content.count > size { content.removeLast(content.count - size) }
    content += [UInt8](repeating: 0, count: size - content.count)
    tree[name] = .some(content)
  }

  private mutating func rename(
    _ name: String, _ names: [String], _ tree: inout History.Tree
  ) throws {
    let other = names[Int.random(in: 0..<names.count, using: &random)]
    guard other != name, let content = tree[name] else { return }
    try volume.rename(FileName(name), in: .root, to: FileName(other), in: .root, .replace)
    tree[other] = content
    inodes[other] = inodes[name]
    tree[name] = nil
    inodes[name] = nil
  }
}

@Suite struct CrashTests {
  let vault = [UInt8](repeating: 3, count: 16)

  private var options: EngineOptions {
    var options = EngineOptions()
    options.worksInBackground = false
    options.journalSegmentBytes = 256 << 10
    options.cacheBytes = 1 << 20
    return options
  }

  /// Power loss after every `stride`-th call that changes the disk, in every scenario: the vault
  /// mounts, the names are those after some step since the last sync, every file reads as it was
  /// after some step since then.
  @Test(arguments: 0..<6 as Range<UInt64>)
  func survivesPowerLoss(seed: UInt64) throws {
    let master = SecretBytes(random: 32)
    let fresh = SimulatedDisk()
    try Volume.create(
      on: fresh, master: master, vault: vault, options: options, anchor: nil,
      owner: Caller(user: 0, group: 0, mask: 0))
    let start = fresh.snapshot()
    let total = try play(on: start.snapshot(), seed, master, stopAfter: nil).steps
    var random = SplitMix64(seed: seed)
    var point = 1
    while point < total {
      let disk = start.snapshot()
      let history = try play(on: disk, seed, master, stopAfter: point).history
      for mode in [CrashMode.keepAll, .dropAll, .random] {
        let crashed = disk.crashed(seed: random.next(), mode: mode)
        try check(crashed, history, master, "seed \(seed) point \(point) mode \(mode)")
      }
      point += Int.random(in: 1...6, using: &random)
    }
  }

  private func play(
    on disk: SimulatedDisk, _ seed: UInt64, _ master: borrowing SecretBytes, stopAfter: Int?
  ) throws -> (history: History, steps: Int) {
    let volume = try Volume.open(
      on: disk, master: master, vault: vault, options: options, anchor: nil)
    var scenario = Scenario(volume: volume, seed: seed)
    let before = disk.steps
    disk.stopAfter = stopAfter.map { before + $0 }
    do {
      try scenario.run(steps: 60)
    } catch {
      if stopAfter == nil { throw error }
    }
    return (scenario.history, disk.steps - before)
  }

  private func check(
    _ disk: SimulatedDisk, _ history: History, _ master: borrowing SecretBytes, _ what: String
  ) throws {
    let volume: Volume
    do {
      volume = try Volume.open(
        on: disk, master: master, vault: vault, options: options, anchor: nil)
    } catch {
      Issue.record("does not mount: \(error), \(what)")
      return
    }
    let (found, failure) = read(volume)
    if let failure { Issue.record("\(failure), \(what)") }
    let candidates = history.trees[history.durable...]
    // The step under way when the power went may be done as well: it is not in the history.
    let names = Set(found.keys)
    let isKnown = candidates.contains { Set($0.keys) == names }
    let isNext = isOneStepAway(names, candidates.last.map { Set($0.keys) } ?? [])
    #expect(isKnown || isNext, "names \(names), \(what)")
    for (name, content) in found {
      guard let content else { continue }
      let versions = candidates.compactMap { $0[name].flatMap { $0 } }
      let isVersion = candidates.contains { tree in
        tree.values.contains { $0 == .some(content) }
      }
      #expect(
        isVersion || isUnderWay(content, versions.last),
        "content of \(name) (\(content.count) bytes), \(what)")
    }
    try volume.close()
  }

  private func isOneStepAway(_ left: Set<String>, _ right: Set<String>) -> Bool {
    left.symmetricDifference(right).count <= 2
  }

  /// Of a step that did not return: accepted where all but at most 12 000 bytes are as before, or
  /// the size changed.
  private func isUnderWay(_ content: [UInt8], _ last: [UInt8]?) -> Bool {
    guard let last else { return true }
    if content.count != last.count { return true }
    return zip(content, last).count { $0 != $1 } <= 12_000
  }

  private func read(_ volume: Volume) -> (History.Tree, String?) {
    var entries: [DirectoryEntry] = []
    var tree: History.Tree = [:]
    do {
      try volume.readDirectory(.root, after: 0) {
        entries.append($0)
        return true
      }
      for entry in entries {
        let size = Int(try volume.attributes(of: entry.inode).size)
        let buffer = Buffer(count: max(size, 1))
        var span = buffer.mutableBytes(in: 0..<size)
        let length = try volume.read(entry.inode, into: &span, at: 0)
        guard length == size else { return (tree, "short file") }
        tree[String(decoding: entry.name, as: UTF8.self)] = .some(buffer.load(0..<size))
      }
    } catch { return (tree, "\(error)") }
    return (tree, nil)
  }
}
