import Bytes
import Crypto
import Disk
import Engine
import Format
import POSIX
import TestKit
import Testing

@testable import Volume

/// A copy of one state of the specimen for one test to alter.
final class Bench {
  let specimen: Specimen
  let state: Specimen.State
  let tree: Tree
  private let scratch = ScratchDirectory()
  private let digest: [String: [UInt8]]

  var store: String { scratch.path("store") }
  var anchor: String { scratch.path("state") }

  /// `anchor` is the moment this machine remembers, that of the store if nothing else is said.
  init(_ state: Specimen.State, anchor: Specimen.State? = nil) throws {
    specimen = try Specimen.shared.get()
    self.state = state
    tree = specimen.tree(state)
    try copyFolder(specimen.path(state), to: scratch.path("store"))
    try copyFolder(specimen.anchor(anchor ?? state), to: scratch.path("state"))
    digest = Self.digest(scratch.path("store"))
  }

  private(set) lazy var places: Places = {
    do {
      let volume = try specimen.open(store, anchor: nil, readOnly: true)
      let places = try Places(volume, tree)
      try volume.close()
      return places
    } catch { preconditionFailure("an untouched store opens: \(error)") }
  }()

  /// Opens the store and reads everything.
  func look() throws -> Verdict { try specimen.look(store, anchor: anchor, tree) }

  /// The same after an alteration. Of a journal after an unclean stop the last frames may be gone
  /// without a trace: then the volume is, in all it has, as it was at a moment before.
  func look(after alteration: Alteration) throws -> Verdict {
    let verdict = try look()
    guard state == .killed, !verdict.findings.wrong.isEmpty,
      alteration.objects.contains(where: { $0.hasPrefix("journal") })
    else { return verdict }
    return try earlierMoment() ?? verdict
  }

  /// The last moment at which the volume was as it is now.
  func earlierMoment() throws -> Verdict? {
    let volume: Volume
    do { volume = try specimen.open(store, anchor: anchor, readOnly: true) } catch {
      return try look()
    }
    // Where the moments differ is looked at first: the whole takes long.
    let index = specimen.moments.lastIndex { moment in
      moment.tree.below(["/desk", "/many"]).examine(volume).wrong.isEmpty
    }
    try volume.close()
    guard let index else { return nil }
    var verdict = try specimen.look(store, anchor: anchor, specimen.moments[index].tree)
    verdict.moment = index
    return verdict.findings.wrong.isEmpty ? verdict : nil
  }

  /// A copy of it that may be written to and is thrown away.
  func fork() throws -> Bench { try Bench(state) }

  /// A path beside the store.
  func path(_ name: String) -> String { scratch.path(name) }

  /// All was undone, and whoever only read wrote nothing.
  func expectUntouched() throws {
    let now = Self.digest(store)
    #expect(now.keys.sorted() == digest.keys.sorted())
    for (object, sum) in digest where now[object] != sum {
      Issue.record("\(object) has changed")
    }
  }

  private static func digest(_ store: String) -> [String: [UInt8]] {
    var sums: [String: [UInt8]] = [:]
    for path in filesBelow(store) {
      sums[String(path.dropFirst(store.count + 1))] = readFile(path).map { bytes in
        Hash.sha256(Buffer(bytes).bytes)
      }
    }
    return sums
  }
}
