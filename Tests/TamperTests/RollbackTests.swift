import Engine
import POSIX
import TestKit
import Testing

@testable import Volume

/// An earlier state of a vault, whole or in part, is put back.
@Suite(.timeLimit(.minutes(15))) struct RollbackTests {
  typealias State = Specimen.State

  @Test func aStoreOlderThanTheAnchorIsRefused() throws {
    for (store, anchor) in [(State.older, State.clean), (.older, .killed), (.clean, .killed)] {
      let stand = try Bench(store, anchor: anchor)
      for readOnly in [true, false] {
        do {
          let volume = try stand.specimen.open(
            stand.store, anchor: stand.anchor, readOnly: readOnly)
          // A reader is told, and sees a state that was one.
          let warnings = volume.warnings
          let findings = stand.tree.examine(volume)
          try volume.close()
          #expect(readOnly && warnings.contains(.olderAccepted), "\(store) \(anchor)")
          #expect(findings.wrong.isEmpty && findings.damage.isEmpty)
        } catch let error as EngineError {
          guard case .older = error else { throw error }
          #expect(!readOnly)
        }
      }
      try stand.expectUntouched()
    }
    Tally.add(6, "older stores put back")
  }

  @Test func aNewerStoreThanTheAnchorIsTaken() throws {
    for (store, anchor) in [(State.clean, State.older), (.killed, .older), (.killed, .clean)] {
      let stand = try Bench(store, anchor: anchor)
      let verdict = try stand.look()
      #expect(verdict.isRight && !verdict.warnings.contains(.firstUse), "\(verdict.summary)")
      let writing = Writing(stand)
      try writing.run()
      #expect(writing.isRight, "\(writing.summary)")
    }
    Tally.add(6, "older anchors")
  }

  @Test func aStoreThisMachineNeverSawIsTrustedAloud() throws {
    let stand = try Bench(.clean)
    for name in namesInFolder(stand.anchor) { removeAll(stand.anchor + "/" + name) }
    let volume = try stand.specimen.open(stand.store, anchor: stand.anchor, readOnly: false)
    #expect(volume.warnings.contains(.firstUse))
    try volume.close()
    let again = try stand.specimen.open(stand.store, anchor: stand.anchor, readOnly: false)
    #expect(!again.warnings.contains(.firstUse))
    try again.close()
    Tally.add(1, "first use")
  }

  /// Accepted on purpose; from then on it is the newer line that is refused, also where it has
  /// gone on by itself.
  @Test func anAcceptedStateIsTheTrueOneFromThenOn() throws {
    let stand = try Bench(.older, anchor: .killed)
    let accepted = try stand.specimen.open(
      stand.store, anchor: stand.anchor, readOnly: false, accepting: true)
    #expect(accepted.warnings.contains(.olderAccepted))
    let findings = stand.tree.examine(accepted)
    #expect(findings.wrong.isEmpty && findings.damage.isEmpty)
    try accepted.close()
    let again = try stand.look()
    #expect(again.isRight && !again.warnings.contains(.olderAccepted), "\(again.summary)")
    for state in [State.clean, .killed] {
      let discarded = try Bench(state)
      // The discarded line goes on for some sessions where nobody knows better.
      for sessions in 0..<6 {
        if sessions > 0 {
          try stand.specimen.open(discarded.store, anchor: nil, readOnly: false).close()
        }
        let error = #expect(throws: EngineError.self) {
          _ = try stand.specimen.open(discarded.store, anchor: stand.anchor, readOnly: false)
        }
        let isStale =
          switch error {
          case .older, .forked: true
          default: false
          }
        #expect(isStale, "\(state) after \(sessions) sessions: \(String(describing: error))")
      }
    }
    Tally.add(14, "discarded lines")
  }

  /// One object or folder, or several, as they were a session ago; the anchor is the newest.
  @Test(arguments: [State.clean, .killed]) func partsOfAnOlderStore(state: State) throws {
    let stand = try Bench(state)
    let before = stand.specimen.path(.older)
    let objects = ShapeTests.objects(stand.store)
    let parts =
      objects.map { [$0] } + [
        ["root.0", "root.1"], ["meta-a", "meta-b"], ["data"], ["journal"],
        ["root.0", "root.1", "journal"], ["root.0", "root.1", "meta-a", "meta-b"],
        ["root.0", "root.1", "meta-a", "meta-b", "journal"],
        ["data", "meta-a", "meta-b", "journal"],
      ]
    for part in parts {
      let alteration = Alteration("an older \(part)", part) { store in
        for object in part {
          removeAll(store + "/" + object)
          let old = before + "/" + object
          guard let status = try? System.linkStatus(at: old) else { continue }
          if status.isDirectory {
            try copyFolder(old, to: store + "/" + object)
          } else {
            try copyFile(old, to: store + "/" + object)
          }
        }
      }
      let verdict = try alteration.with(stand.store) { try look(after: alteration, stand) }
      #expect(verdict.isHonest, "\(alteration.name): \(verdict.summary)")
    }
    try stand.expectUntouched()
    Tally.add(parts.count, "parts of an older store, \(state)")
  }

  /// Without roots of its own time nothing of a store is newer: a reader is told and sees an older
  /// state, of which he gets what is there.
  private func look(after alteration: Alteration, _ stand: Bench) throws -> Verdict {
    let verdict = try stand.look(after: alteration)
    guard verdict.warnings.contains(.olderAccepted) else { return verdict }
    return try stand.specimen.look(stand.store, anchor: stand.anchor, stand.specimen.older)
  }

  /// Store and anchor together: nobody can tell. It is right as it was then.
  @Test func storeAndAnchorTogetherAreNotNoticed() throws {
    let stand = try Bench(.older)
    let verdict = try stand.look()
    #expect(verdict.isRight && verdict.warnings == [], "\(verdict.summary)")
    Tally.add(1, "store and anchor put back together")
  }
}
