import Engine
import Glibc
import POSIX
import TestKit
import Testing

@testable import Volume

/// What this machine remembers of a vault is altered: it cannot make a vault unreadable, and that
/// nothing is known is said aloud.
@Suite(.timeLimit(.minutes(15))) struct AnchorTests {
  private static let half = 4096

  private func name(_ stand: Bench) throws -> String {
    try #require(namesInFolder(stand.anchor).first)
  }

  /// Of the older store, which the anchor refuses as long as it is known.
  private func isRefused(_ stand: Bench) throws -> Bool {
    let old = try Bench(.older)
    do {
      try stand.specimen.open(old.store, anchor: stand.anchor, readOnly: false).close()
      return false
    } catch let error as EngineError {
      guard case .older = error else { throw error }
      return true
    }
  }

  @Test func bitsAreFlipped() throws {
    let stand = try Bench(.clean)
    let name = try name(stand)
    let whole = try #require(readFile(stand.anchor + "/" + name))
    var random = SplitMix64(seed: 0xa11c)
    var cases = 0
    // A half is: counter, generation, IV, tag, and 56 bytes sealed; the rest means nothing.
    for at in FlipTests.bits(0..<104, Limits.isSoak ? 104 : 12, &random) {
      for halves in [[0], [1], [0, 1]] {
        let patches = halves.map { half in
          let offset = half * Self.half + at.byte
          return (object: name, offset: offset, bytes: [whole[offset] ^ UInt8(1 << at.bit)])
        }
        let verdict = try Alteration.patch(stand.anchor, patches) { try stand.look() }
        cases += 1
        #expect(verdict.isRight, "\(halves) \(at): \(verdict.summary)")
        let isMeaningless = (8..<16).contains(at.byte) || (28..<32).contains(at.byte)
        #expect(
          verdict.warnings.contains(.anchorDamaged) == (halves.count == 2 && !isMeaningless),
          "\(halves) \(at): \(verdict.warnings)")
      }
    }
    Tally.add(cases, "bit flips in the anchor")
  }

  /// One half is enough to refuse an older store.
  @Test(arguments: [0, 1]) func oneHalfIsEnough(half: Int) throws {
    let stand = try Bench(.clean)
    let zeros = [UInt8](repeating: 0, count: Self.half)
    try writeBytes(stand.anchor + "/" + (try name(stand)), zeros, at: half * Self.half)
    #expect(try isRefused(stand))
    #expect(try stand.look().isRight)
  }

  /// The warnings of a mount that may write, and whether the next one remembers.
  private func mount(_ stand: Bench) throws -> (warnings: [OpenWarning], remembers: Bool) {
    let volume = try stand.specimen.open(stand.store, anchor: stand.anchor, readOnly: false)
    let warnings = volume.warnings
    let findings = stand.tree.examine(volume)
    #expect(findings.wrong.isEmpty && findings.damage.isEmpty)
    try volume.close()
    return (warnings, try isRefused(stand))
  }

  @Test func cutOrDrawnOut() throws {
    let first = try Bench(.clean)
    let sizes = [0, 1, 104, 4095, 4096, 4097, 8191, 8193, 1 << 40]
    for size in sizes {
      let stand = try first.fork()
      let path = stand.anchor + "/" + (try name(stand))
      try System.resize(System.open(path, .readWrite), to: UInt64(size))
      let (warnings, remembers) = try mount(stand)
      // Half of it, or nothing: a new one is there at once.
      #expect(warnings.contains(.firstUse) == (size == 0), "\(size): \(warnings)")
      #expect(remembers, "\(size)")
    }
    Tally.add(sizes.count, "anchors cut or drawn out")
  }

  @Test func ofAnotherTimeOrVault() throws {
    let stand = try Bench(.clean)
    let path = stand.anchor + "/" + (try name(stand))
    try writeBytes(path, [UInt8](repeating: 0x5a, count: 2 * Self.half), at: 0)
    let (warnings, remembers) = try mount(stand)
    #expect(warnings.contains(.anchorDamaged) && !warnings.contains(.firstUse))
    #expect(remembers)
    Tally.add(1, "anchors of another vault")
  }

  @Test func somethingElseIsInItsPlace() throws {
    let first = try Bench(.clean)
    for kind in Stand.possible {
      let stand = try first.fork()
      let path = stand.anchor + "/" + (try name(stand))
      let elsewhere = stand.path("elsewhere")
      try copyFile(path, to: elsewhere)
      let before = readFile(elsewhere)
      try kind.put(at: path, elsewhere: elsewhere)
      let (warnings, remembers) = try mount(stand)
      if kind == .secondName {
        #expect(!warnings.contains(.anchorDamaged))
      } else {
        #expect(warnings.contains(.anchorDamaged), "\(kind): \(warnings)")
      }
      // A folder stays, and that nothing can be remembered is said; all else is replaced.
      #expect(remembers == (kind != .folder), "\(kind)")
      #expect(warnings.contains(.anchorUnwritable) == (kind == .folder), "\(kind): \(warnings)")
      #expect(readFile(elsewhere) == before, "\(kind) was followed")
    }
    Tally.add(Stand.possible.count, "something else in the anchor's place")
  }
}
