import Bytes
import Crypto
import Format
import POSIX
import TestKit
import Testing

@testable import Engine
@testable import Volume

/// `verify` on the volume: finds all that is damaged, and nothing that is not.
@Suite struct ScrubTests {
  @Test func aSoundVolumeIsClean() throws {
    let vault = try ScrubbedVault()
    try vault.fill()
    let report = try vault.check()
    let found = report.damages.map { $0.text }
    #expect(found == [])
    #expect(report.isCompared)
    #expect(report.files == 303 && report.directories == 4 && report.others == 1)
    #expect(report.chunks == 322)
    #expect(report.pages > 20)
    let quick = try vault.check(quick: true)
    #expect(quick.chunks == 0 && quick.damages.isEmpty && quick.files == 303)
  }

  /// Whatever was done, whatever was cut short by a power loss: no false alarm.
  @Test(arguments: 0..<3 as Range<UInt64>) func randomVolumesAreClean(seed: UInt64) throws {
    let vault = try ScrubbedVault()
    var volume = try vault.open()
    var generator = OperationGenerator(seed: seed, largest: 150 * 4096)
    for round in 0..<4 as Range<UInt64> {
      for step in 0..<60 {
        _ = VolumeDriver(volume).apply(generator.next())
        if step % 29 == 28 { try volume.engine.checkpoint() }
        if step % 31 == 30 { #expect(volume.reapOrphans() == nil) }
      }
      let live = try volume.scrub(ScrubOptions())
      let found = live.damages.map { $0.text }
      #expect(found == [], "seed \(seed) round \(round), in use")
      #expect(live.isCompared)
      let mode = CrashMode.allCases[Int(round) % CrashMode.allCases.count]
      let crashed = vault.disk.crashed(seed: seed * 100 + round, mode: mode)
      let left = try vault.check(crashed).damages.map { $0.text }
      #expect(left == [], "seed \(seed) round \(round), after a power loss")
      let opened = try vault.open(crashed)
      let after = try opened.scrub(ScrubOptions()).damages.map { $0.text }
      #expect(after == [], "seed \(seed) round \(round), mounted again")
      try opened.close()
    }
    try volume.close()
    volume = try vault.open()
    try volume.close()
    let end = try vault.check().damages.map { $0.text }
    #expect(end == [])
  }

  /// Each slot of metadata in turn: in one copy it is named and nothing is lost.
  @Test func everyFlippedSectorOfMetadataIsNamed() throws {
    let vault = try ScrubbedVault()
    try vault.fill()
    let meta = try #require(vault.disk.content(of: "meta-a/0000"))
    let whole = try contents(try vault.open(readOnly: true))
    var count = 0
    for slot in 1..<(meta.count / 4096) {
      guard meta[(slot * 4096)..<((slot + 1) * 4096)].contains(where: { $0 != 0 }) else { continue }
      let copy = slot % 2 == 0 ? "meta-a" : "meta-b"
      let damaged = vault.disk.snapshot()
      damaged.flip(meta: UInt32(slot), copies: [copy])
      let report = try vault.check(damaged, quick: true)
      let found = report.damages.map { "\($0.kind) \($0.objects) \($0.slot ?? 0)" }
      #expect(found == ["copy [\"\(copy)/0000\"] \(slot)"])
      count += 1
      guard slot % 8 == 0 else { continue }
      let isSame = try contents(try vault.open(damaged, readOnly: true)) == whole
      #expect(isSame, "slot \(slot)")
    }
    #expect(count > 20)
  }

  /// All names, and all bytes of some files.
  private func contents(_ volume: Volume) throws -> [String: [UInt8]] {
    var found: [String: [UInt8]] = [:]
    for path in ["", "Exports", "many"] {
      for name in try volume.list(path).names { found["\(path)/\(name)"] = [] }
    }
    for path in ["Exports/a.csv", "Exports/large"] {
      found[path] = try volume.text(volume.find(path), count: 2 << 20)
    }
    let file = try volume.find("same")
    found["attribute"] = try volume.getAttribute(Array("user.note".utf8), of: file)
    found["target"] = try volume.symlinkTarget(of: volume.find("Exports/link"))
    return found
  }

  /// Both copies: the check goes on and tells what is lost, whichever page it is.
  @Test func everyLostPageIsNamed() throws {
    let vault = try ScrubbedVault()
    try vault.fill()
    let meta = try #require(vault.disk.content(of: "meta-a/0000"))
    var count = 0
    for slot in 1..<(meta.count / 4096) {
      guard meta[(slot * 4096)..<((slot + 1) * 4096)].contains(where: { $0 != 0 }) else { continue }
      let damaged = vault.disk.snapshot()
      damaged.flip(meta: UInt32(slot))
      let report = try vault.check(damaged)
      let isNamed = report.damages.contains {
        $0.kind == .page && $0.objects == ["meta-a/0000", "meta-b/0000"]
          && $0.slot == UInt32(slot)
      }
      #expect(isNamed, "slot \(slot)")
      count += 1
    }
    #expect(count > 20)
  }

  @Test func aHealedCopyIsCleanAfterwards() throws {
    let vault = try ScrubbedVault()
    try vault.fill()
    let volume = try vault.open(readOnly: true)
    let slots = try [
      volume.slot(of: PageID(.inodes, 0)), volume.slot(of: PageID(.system, 0)),
      volume.slot(of: PageID(.pages, volume.record(at: "Exports").top)),
    ]
    try volume.close()
    vault.disk.flip(meta: slots[0], copies: ["meta-b"])
    vault.disk.flip(meta: slots[2], copies: ["meta-b"])
    vault.disk.flip(meta: slots[1], copies: ["meta-a"])
    let found = try vault.check(quick: true).damages
    #expect(found.count == 3)
    // Which directory it was is told as well.
    let paths = found.compactMap { $0.path }.map { String(decoding: $0, as: UTF8.self) }
    #expect(paths == ["Exports"])
    let left = try vault.repair().map { $0.text }
    #expect(left == [])
    let after = try vault.check().damages.map { $0.text }
    #expect(after == [])
  }

  @Test func aCopyOfTheRootIsHealed() throws {
    for name in ["root.0", "root.1"] {
      let vault = try ScrubbedVault()
      try vault.fill()
      vault.disk.flipBit(of: name, at: 4000)
      let found = try vault.check(quick: true).damages.map { $0.text }
      #expect(found == ["root \(name) - - -"])
      let volume = try vault.open(readOnly: true)
      #expect(volume.warnings == [.rootCopyHealed])
      let names = try volume.list("Exports").names.sorted()
      #expect(names == ["a.csv", "large", "link", "sparse"])
      try volume.close()
      let left = try vault.repair().map { $0.text }
      #expect(left == [])
      let after = try vault.check(quick: true).damages.map { $0.text }
      #expect(after == [])
    }
  }

  @Test func aFlippedSectorOfDataLosesThatChunkOnly() throws {
    let vault = try ScrubbedVault()
    try vault.fill()
    let look = try vault.open(readOnly: true)
    let slot = try look.slot(of: 5, in: "Exports/large")
    try look.close()
    vault.disk.flip(data: slot)
    let found = try vault.check().damages.map { $0.text }
    #expect(found == ["chunk data/0000 \(slot) Exports/large 20480-24575"])
    let quick = try vault.check(quick: true).damages.count
    #expect(quick == 0)

    let volume = try vault.open()
    let inode = try volume.find("Exports/large")
    let content = ScrubbedVault.content(300 * 4096 + 17)
    #expect(try volume.text(inode, count: 5 * 4096) == Array(content[..<20480]))
    #expect(try volume.text(inode, count: 1 << 21, at: 24576) == Array(content[24576...]))
    let place = "chunk 5 of inode \(inode.rawValue), data/0000 slot \(slot)"
    #expect(throws: VolumeError.damaged(place)) {
      try volume.text(inode, count: 1, at: 20480)
    }
    // It is counted once, however often it is asked for.
    _ = try? volume.text(inode, count: 1, at: 20481)
    #expect(volume.statistics.unreadablePieces == 1)
    try volume.close()
    // What is lost stays so, and repairing deletes nothing.
    let left = try vault.repair()
    #expect(left.isEmpty)
    let again = try vault.check().damages.map { $0.text }
    #expect(again == found)
  }

  @Test func neighboursAreOneLine() throws {
    let vault = try ScrubbedVault()
    try vault.fill()
    let look = try vault.open(readOnly: true)
    let slots = try (7..<10 as Range<UInt64>).map { try look.slot(of: $0, in: "Exports/large") }
    try look.close()
    for slot in slots { vault.disk.flip(data: slot) }
    let found = try vault.check().damages.map { $0.text }
    #expect(found == ["chunk data/0000 \(slots[0]) Exports/large 28672-40959"])
  }

  @Test func aMissingOrShortObjectIsTold() throws {
    let vault = try ScrubbedVault()
    try vault.fill()
    let gone = vault.disk.snapshot()
    gone.removeObject("data/0000")
    let report = try vault.check(gone)
    let chunks = report.damages.filter { $0.kind == .chunk }
    #expect(chunks.reduce(0) { $0 + ($1.range?.count ?? 0) } == 322 * 4096)
    let paths = Set(chunks.compactMap { $0.path }.map { String(decoding: $0, as: UTF8.self) })
    #expect(paths.isSuperset(of: ["Exports/large", "Exports/sparse"]) && paths.count == 3)
    let twin = vault.disk.snapshot()
    twin.removeObject("meta-b/0000")
    let copies = try vault.check(twin, quick: true).damages
    #expect(copies.count > 20 && copies.allSatisfy { $0.kind == .copy })
    let left = try vault.repair(twin).map { $0.text }
    #expect(left == [])
    let after = try vault.check(twin).damages.map { $0.text }
    #expect(after == [])
  }

  /// A part of the tree, and nothing else.
  @Test func aPathLimitsTheCheck() throws {
    let vault = try ScrubbedVault()
    try vault.fill()
    let look = try vault.open(readOnly: true)
    let slot = try look.slot(of: 5, in: "Exports/large")
    let table = try look.slot(of: PageID(.pages, look.record(at: "Exports/large").top))
    try look.close()
    vault.disk.flip(data: slot)
    vault.disk.flip(meta: table, copies: ["meta-b"])
    let volume = try vault.open(readOnly: true)
    func check(_ path: String) throws -> ScrubReport {
      var options = ScrubOptions()
      options.path = path.split(separator: "/").map { Array($0.utf8) }
      return try volume.scrub(options)
    }
    let many = try check("many")
    #expect(many.damages.isEmpty && many.files == 300 && many.chunks == 0)
    let file = try check("Exports/a.csv")
    #expect(file.damages.isEmpty && file.files == 1 && file.chunks == 20)
    let found = try check("Exports").damages.map { $0.text }
    #expect(
      found == [
        "copy meta-b/0000 \(table) Exports/large -",
        "chunk data/0000 \(slot) Exports/large 20480-24575",
      ])
    let one = try check("Exports/large").damages.map { $0.kind }
    #expect(one == [.copy, .chunk])
    #expect(throws: VolumeError.system(.noSuchFile)) { try check("Exports/none") }
    #expect(throws: VolumeError.system(.notDirectory)) { try check("Exports/link/a") }
    try volume.close()
  }
}
