import Bytes
import Engine
import Format
import POSIX
import TestKit

@testable import Volume

/// Writes to a store that was altered, and looks what is there afterwards: what was there before
/// is so still or is an error, and what was said to be durable is there.
final class Writing {
  private let stand: Bench
  private let store: String
  private let fresh = (0..<9000).map { UInt8(truncatingIfNeeded: $0 / 7) }
  /// Paths that the test itself changes.
  private static let changed = ["/desk", "/desk/old"]

  private(set) var opened: Verdict?
  /// Whether file and change were said to be durable.
  private(set) var didMake = false
  private(set) var didChange = false
  private(set) var refusals: [String] = []
  private(set) var after: Verdict?
  private(set) var wrong: [String] = []

  init(_ stand: Bench) {
    self.stand = stand
    store = stand.store
  }

  var isHonest: Bool {
    wrong.isEmpty && (opened?.isHonest ?? true) && (after?.isHonest ?? true)
  }

  /// Nothing was lost at all.
  var isRight: Bool {
    isHonest && didMake && didChange && (opened?.isRight ?? false) && (after?.isRight ?? false)
  }

  var summary: String {
    "opened \(opened?.summary ?? "-"); made \(didMake) changed \(didChange) \(refusals); "
      + "after \(after?.summary ?? "-"); wrong \(wrong)"
  }

  private var untouched: Tree {
    stand.tree.without(Set(Self.changed.map { stand.tree.entry($0).inode }))
  }

  func run() throws {
    var first = Verdict()
    do {
      let volume = try stand.specimen.open(store, anchor: stand.anchor, readOnly: false)
      first.findings = untouched.examine(volume)
      write(volume)
      first.findings.wrong += untouched.examine(volume).wrong
      do { try volume.close() } catch { refusals.append("close: \(error)") }
    } catch let error as EngineError { first.refusal = error }
    opened = first
    try lookAgain()
  }

  private func write(_ volume: Volume) {
    let work = stand.tree.entry("/desk").inode
    let old = stand.tree.entry("/desk/old").inode
    do throws(VolumeError) {
      let made = try volume.makeNode(
        FileName("fresh"), in: work, mode: 0o100600, device: 0, by: Tree.caller)
      try volume.write(made.inode, Buffer(fresh).bytes, at: 0, clearsSetID: false)
      try volume.sync(made.inode, dataOnly: false)
      didMake = true
    } catch { refusals.append("make: \(error)") }
    do throws(VolumeError) {
      try volume.write(old, Buffer(fresh).bytes, at: 0, clearsSetID: false)
      try volume.sync(old, dataOnly: false)
      didChange = true
    } catch { refusals.append("change: \(error)") }
  }

  /// Another process opens the store; what was refused may be there or not, what was done is.
  private func lookAgain() throws {
    var again = Verdict()
    do {
      let volume = try stand.specimen.open(store, anchor: stand.anchor, readOnly: true)
      again.findings = untouched.examine(volume)
      if didMake { expect(try freshInode(volume), volume, "the new file") }
      if didChange {
        expect(.success(stand.tree.entry("/desk/old").inode), volume, "the changed file")
      }
      try volume.close()
    } catch let error as EngineError { again.refusal = error }
    after = again
  }

  private func freshInode(_ volume: Volume) throws -> Result<InodeNumber, VolumeError> {
    let work = stand.tree.entry("/desk").inode
    do throws(VolumeError) {
      return .success(try volume.lookup(FileName("fresh"), in: work).inode)
    } catch { return .failure(error) }
  }

  private func expect(
    _ inode: Result<InodeNumber, VolumeError>, _ volume: Volume, _ what: String
  ) {
    do throws(VolumeError) {
      let found = try inode.get()
      let size = Int(try volume.attributes(of: found).size)
      let bytes = try Tree.read(volume, found, 0)
      if size != fresh.count || bytes != fresh { wrong.append("\(what) has other bytes") }
    } catch {
      guard case .damaged(let object) = error, Findings.isNamed(object) else {
        return wrong.append("\(what): \(error)")
      }
    }
  }
}
