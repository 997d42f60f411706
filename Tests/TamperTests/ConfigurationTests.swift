import Bytes
import Crypto
import Disk
import Engine
import Format
import Glibc
import POSIX
import TestKit
import Testing
import Volume

@testable import Vault

/// The configuration is altered. It is told before any password is tried, except by whoever makes
/// its checksum good: `ForgeryTests`.
@Suite(.timeLimit(.minutes(15))) struct ConfigurationTests {
  private static let copies = [Configuration.fileName, Configuration.copyName]

  /// What reading both copies came to.
  private enum Told: Equatable {
    case whole, oneGood, failed(VaultError)
  }

  private func read(_ stand: Bench) throws -> Told {
    let files = ConfigurationFiles(disk: try PosixDisk(path: stand.store))
    do throws(VaultError) {
      let found = try files.read()
      // What is taken is what was written, whatever was altered.
      #expect(found.copies.allSatisfy { $0 == stand.specimen.configuration })
      return found.unequal ? .oneGood : .whole
    } catch { return .failed(error) }
  }

  @Test func everyBitCounts() throws {
    let stand = try Bench(.clean)
    let paths = Self.copies.map { stand.store + "/" + $0 }
    let page = try #require(readFile(paths[0]))
    var random = SplitMix64(seed: 0xc0f)
    var cases = 0
    for at in FlipTests.bits(0..<page.count, Limits.isSoak ? 8 * page.count : 200, &random) {
      let patch = [page[at.byte] ^ UInt8(1 << at.bit)]
      for path in paths {
        try writeBytes(path, patch, at: at.byte)
        cases += 1
        #expect(try read(stand) == (path == paths[0] ? .oneGood : .failed(.damagedConfiguration)))
      }
      for path in paths { try writeBytes(path, [page[at.byte]], at: at.byte) }
    }
    #expect(try read(stand) == .whole)
    Tally.add(cases, "bit flips in the configuration")
  }

  @Test func cutDrawnOutOrGone() throws {
    let stand = try Bench(.clean)
    let sizes =
      [nil, 0, 1, 31, 32, 64, 1088, 2048, 4032, 4064, 4095, 4097, 8192, 1 << 40] as [Int?]
    for size in sizes {
      let alterations = Self.copies.map { name in
        Alteration("\(name) \(size ?? -1)", [name]) { store in
          guard let size else { return removeAll(store + "/" + name) }
          try System.resize(System.open(store + "/" + name, .readWrite), to: UInt64(size))
        }
      }
      for alteration in alterations {
        let told = try alteration.with(stand.store) { try read(stand) }
        #expect(told == .oneGood, "\(alteration.name)")
      }
      let told = try alterations[0].with(stand.store) {
        try alterations[1].with(stand.store) { try read(stand) }
      }
      let expected = size == nil ? VaultError.missingConfiguration : .damagedConfiguration
      #expect(told == .failed(expected), "\(size ?? -1)")
    }
    Tally.add(3 * sizes.count, "configurations cut, drawn out or gone")
  }

  @Test func somethingElseIsInItsPlace() throws {
    let stand = try Bench(.clean)
    let elsewhere = stand.path("elsewhere")
    var cases = 0
    for kind in Stand.possible where kind != .secondName {
      try copyFile(stand.store + "/" + Configuration.fileName, to: elsewhere)
      let alterations = Self.copies.map { name in
        Alteration("\(name) is a \(kind)", [name]) { store in
          try kind.put(at: store + "/" + name, elsewhere: elsewhere)
        }
      }
      for alteration in alterations {
        let told = try alteration.with(stand.store) { try read(stand) }
        #expect(told == .oneGood, "\(alteration.name)")
      }
      let told = try alterations[0].with(stand.store) {
        try alterations[1].with(stand.store) { try read(stand) }
      }
      #expect(told == .failed(.damagedConfiguration), "\(kind)")
      cases += 3
    }
    Tally.add(cases, "something else in the configuration's place")
  }

  /// The pages of another vault: a good configuration, and not of this one.
  @Test func ofAnotherVault() throws {
    let stand = try Bench(.clean)
    let master = SecretBytes(random: 32)
    let other = try Vault.configuration(for: master, secret(Specimen.password))
    try ConfigurationFiles(disk: PosixDisk(path: stand.store)).write(other)
    let disk = try PosixDisk(path: stand.store)
    let unlocked = try ConfigurationFiles(disk: disk).unlock(secret(Specimen.password))
    #expect(unlocked.configuration.vault == other.vault)
    #expect(throws: EngineError.damaged("both copies of the root")) {
      _ = try Volume.open(
        on: disk, master: unlocked.master, vault: unlocked.configuration.vault,
        options: Specimen.options, anchor: nil)
    }
    Tally.add(1, "configurations of another vault")
  }

  /// A change of the password writes beside the old configuration: what somebody put there, a
  /// second name of a file of his own, is not written to.
  @Test func whatIsInTheNewOnesPlaceIsNotWrittenTo() throws {
    let stand = try Bench(.clean)
    let files = ConfigurationFiles(disk: try PosixDisk(path: stand.store))
    let new = stand.store + "/" + Configuration.newName
    let mine = stand.path("mine")
    for kind in Stand.possible where kind != .folder {
      removeAll(new)
      try writeFile(mine, Array("mine".utf8))
      if kind == .secondName {
        #expect(unsafe link(mine, new) == 0)
      } else {
        try kind.put(at: new, elsewhere: mine)
      }
      try files.write(stand.specimen.configuration)
      #expect(try read(stand) == .whole, "\(kind)")
      #expect(readFile(mine) == Array("mine".utf8), "\(kind)")
    }
    Tally.add(Stand.possible.count - 1, "something in the place of a new configuration")
  }
}
