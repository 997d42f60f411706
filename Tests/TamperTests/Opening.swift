import Crypto
import Disk
import Engine
import Format
import POSIX
import TestKit
import Testing

@testable import Volume

/// What opening a store and looking at all of it came to.
struct Verdict: Sendable {
  /// Nil if it could be opened.
  var refusal: EngineError?
  var warnings: [OpenWarning] = []
  var findings = Findings()
  /// The moment of the killed session that was found, if not its last.
  var moment: Int?

  /// Everything was there and nothing was reported.
  var isRight: Bool { refusal == nil && findings.wrong.isEmpty && findings.damage.isEmpty }

  /// Nothing was answered that is not so, and what was refused was refused by name.
  var isHonest: Bool {
    if let refusal { return refusal.isNamed }
    return findings.wrong.isEmpty
  }

  /// Something was noticed, and only so.
  var isNoticed: Bool { isHonest && (refusal != nil || !findings.damage.isEmpty) }

  var summary: String {
    if let refusal { return "refused: \(refusal)" }
    return "right \(findings.right), damage \(findings.damage.prefix(3)), "
      + "wrong \(findings.wrong.prefix(3))"
  }
}

extension EngineError {
  /// Whether it says which object is damaged, or that the state is another one.
  var isNamed: Bool {
    switch self {
    case .older, .forked, .olderConfiguration: true
    case .disk(let failure): failure.displaced.map(Findings.isNamed) ?? false
    case .noSpace, .readOnly, .posix, .closed, .unsupported: false
    default: Findings.isNamed("\(self)")
    }
  }
}

extension Specimen {
  func open(
    _ store: String, anchor: String?, readOnly: Bool, accepting: Bool = false
  ) throws -> Volume {
    var options = Self.options
    options.readOnly = readOnly
    options.acceptOlder = accepting
    return try Volume.open(
      on: PosixDisk(path: store), master: master, vault: configuration.vault, options: options,
      anchor: anchor.map { try PosixDisk(path: $0) })
  }

  /// Opens a store without writing to it, and reads everything; each case must end soon.
  func look(
    _ store: String, anchor: String?, _ tree: Tree, readOnly: Bool = true
  ) throws -> Verdict {
    let start = Clock.monotonic
    var verdict = Verdict()
    do {
      let volume = try open(store, anchor: anchor, readOnly: readOnly)
      verdict.warnings = volume.warnings
      verdict.findings = tree.examine(volume)
      do { try volume.close() } catch {
        // A close that fails says so, and the store must be as good as before.
        verdict.findings.check("close") { () throws(VolumeError) in throw error }
      }
    } catch let error as EngineError { verdict.refusal = error }
    let seconds = (Clock.monotonic - start) / 1_000_000_000
    #expect(seconds < Limits.seconds, "a case took \(seconds) s")
    return verdict
  }
}

enum Limits {
  /// Of one case, on a machine that does much else.
  static let seconds: UInt64 = 30

  /// `COFFRE_SOAK=1`: everything there is, instead of a sample.
  static let isSoak = System.environment("COFFRE_SOAK") == "1"

  /// Whether the case of a number is in the sample, which has one in so many.
  static func takes(_ index: Int, of many: Int) -> Bool { isSoak || index % many == 0 }
}

/// Counts the cases, so that the log says how many there were.
enum Tally {
  private static let total = Lock(0)

  static func add(_ count: Int, _ what: String) {
    let sum = total.withLock { total in
      total += count
      return total
    }
    print("tamper: \(count) cases, \(what); \(sum) so far")
  }
}
