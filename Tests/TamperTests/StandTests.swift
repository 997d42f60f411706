import Glibc
import POSIX
import TestKit
import Testing

@testable import Vault
@testable import Volume

/// Something else is in an object's or a folder's place: a link, a pipe, a folder, a device.
@Suite(.timeLimit(.minutes(15))) struct StandTests {
  private static let folders = ["data", "meta-a", "meta-b", "journal"]

  private func names(_ stand: Bench) -> [String] {
    ShapeTests.objects(stand.store) + Self.folders
  }

  private static func alteration(_ object: String, _ kind: Stand, elsewhere: String) -> Alteration {
    Alteration("\(object) is a \(kind)", [object]) { store in
      try kind.put(at: store + "/" + object, elsewhere: elsewhere)
    }
  }

  /// A whole copy for links to lead to: whoever followed one would find everything right.
  private func elsewhere(_ stand: Bench, _ object: String) throws -> String {
    let path = stand.path("elsewhere")
    removeAll(path)
    removeAll(path + ".second")
    let original = stand.store + "/" + object
    if try System.linkStatus(at: original).isDirectory {
      try copyFolder(original, to: path)
    } else {
      try copyFile(original, to: path)
    }
    return path
  }

  private static func isPossible(_ kind: Stand, _ object: String) -> Bool {
    kind != .secondName || !folders.contains(object)
  }

  @Test func nothingIsFollowedOrWaitedForByAReader() throws {
    let stand = try Bench(.clean)
    var cases = 0
    for object in names(stand) {
      for kind in Stand.possible where Self.isPossible(kind, object) {
        let path = try elsewhere(stand, object)
        let alteration = Self.alteration(object, kind, elsewhere: path)
        let verdict = try alteration.with(stand.store) { try stand.look() }
        cases += 1
        #expect(verdict.isHonest, "\(alteration.name): \(verdict.summary)")
        let isTwin = object.hasPrefix("meta-") || object.hasPrefix("root.")
        if isTwin || kind == .secondName {
          #expect(verdict.isRight, "\(alteration.name): \(verdict.summary)")
        }
        // Not the copy that a link leads to.
        if object == "data/0000", kind != .secondName, kind != .folder {
          #expect(verdict.isNoticed, "\(alteration.name): \(verdict.summary)")
        }
      }
    }
    try stand.expectUntouched()
    Tally.add(cases, "something else in an object's place, read")
  }

  /// A writer may mend, or refuse by name; nothing is written elsewhere.
  @Test func nothingIsFollowedOrWaitedForByAWriter() throws {
    let first = try Bench(.clean)
    var cases = 0
    for (index, object) in names(first).enumerated() {
      for (step, kind) in Stand.possible.enumerated() where Self.isPossible(kind, object) {
        guard Limits.takes(index + step, of: 6) || kind == .secondName else { continue }
        let stand = try first.fork()
        let path = try elsewhere(stand, object)
        let before = readFile(path)
        let alteration = Self.alteration(object, kind, elsewhere: path)
        try alteration.apply(to: stand.store)
        let writing = Writing(stand)
        try writing.run()
        cases += 1
        #expect(writing.isHonest, "\(alteration.name): \(writing.summary)")
        if kind == .secondName {
          // The other name still has what it had: a backup of hard links stays whole.
          let second = readFile(path + ".second")
          #expect(second == before, "\(alteration.name) wrote to the other name")
        }
        #expect(readFile(path) == before, "\(alteration.name) followed a link")
      }
    }
    Tally.add(cases, "something else in an object's place, written")
  }

  /// The file that is locked: it is never written to, so a second name of it does no harm.
  @Test func theLockIsNeverFollowedOrWaitedFor() throws {
    let stand = try Bench(.clean)
    let path = stand.store + "/lock"
    let elsewhere = stand.path("elsewhere")
    try writeFile(elsewhere, [])
    for kind in Stand.possible {
      if kind == .secondName { try copyFile(elsewhere, to: path) }
      try kind.put(at: path, elsewhere: elsewhere)
      for exclusive in [true, false] {
        let vault = try Vault(path: stand.store)
        do throws(VaultError) {
          _ = try vault.lock(exclusive: exclusive)
          #expect(kind == .secondName, "\(kind)")
        } catch {
          guard case .displaced(let what) = error else { throw error }
          #expect(what.hasPrefix("lock "), "\(kind): \(what)")
        }
      }
      removeAll(path)
    }
    Tally.add(2 * Stand.possible.count, "something else in the lock's place")
  }

  @Test(.enabled(if: System.userNumber == 0, "skipped: only root can make a device"))
  func aDeviceIsAmongThem() { #expect(Stand.possible.contains(.device)) }

  /// A program that saves space may make one file of two equal ones: that would be one copy of what
  /// is kept twice, and two segments of the journal in one place.
  @Test func equalObjectsThatBecameOneFileAreNeverWrittenTo() throws {
    let first = try Bench(.clean)
    let pairs = [("root.0", "root.1"), ("meta-a/0000", "meta-b/0000")]
    let spares = ShapeTests.objects(first.store).filter { $0.hasPrefix("journal/") }.suffix(2)
    for (one, other) in pairs + [(spares.first ?? "", spares.last ?? "")] {
      let stand = try first.fork()
      removeAll(stand.store + "/" + other)
      let made = unsafe link(stand.store + "/" + one, stand.store + "/" + other)
      #expect(made == 0 && one != other)
      let writing = Writing(stand)
      try writing.run()
      #expect(writing.isHonest, "\(one) and \(other): \(writing.summary)")
      // Metadata cannot be told apart again by itself; the rest is.
      #expect(writing.isRight || one.hasPrefix("meta"), "\(one): \(writing.summary)")
    }
    Tally.add(3, "two objects that are one file")
  }
}
