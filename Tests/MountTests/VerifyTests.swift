import Foundation
import Testing

/// `coffre verify` with the real command: exit codes, reports, paths, and a mounted vault.
@Suite(.serialized, .enabled(if: Command.canMount, "no /dev/fuse, fusermount3 or built command"))
struct VerifyTests {
  /// A locked vault with a few files; chunks are in data/0000 from slot 1 on.
  private func filled() throws -> Mounted {
    let vault = try Mounted()
    try vault.check(
      """
      mkdir Exports && head -c 40960 /dev/urandom > Exports/a.csv && sync Exports/a.csv
      head -c 40960 /dev/urandom > Exports/b.csv && sync Exports/b.csv
      ln -s /etc/passwd Exports/outside && cp Exports/a.csv '\(vault.scratch)/copy'
      """)
    try vault.lock()
    return vault
  }

  private func verify(_ vault: Mounted, _ words: [String] = []) throws -> Outcome {
    try vault.coffre(["verify", vault.vault, "--password-file", vault.password] + words)
  }

  /// Overwrites one sector, as a failing disk does.
  private func spoil(_ vault: Mounted, _ object: String, slot: Int) throws {
    let outcome = try vault.sh(
      """
      head -c 512 /dev/urandom | dd of='\(vault.vault)/\(object)' bs=512 seek=\(slot * 8) \
        conv=notrunc status=none
      """, in: "/")
    #expect(outcome.status == 0, "\(outcome.output)")
  }

  /// The slots of metadata in use.
  private func metaSlots(_ vault: Mounted) throws -> [Int] {
    let path = vault.vault + "/meta-a/0000"
    let bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
    return (1..<(bytes.count / 4096)).filter { slot in
      bytes[(slot * 4096)..<((slot + 1) * 4096)].contains { $0 != 0 }
    }
  }

  private struct Report: Decodable {
    struct Item: Decodable {
      let kind: String
      let objects: [String]
      let slot: Int?
      let offset: Int?
      let type: String?
      let path: String?
      let firstByte: Int?
      let lastByte: Int?
      let repaired: Bool
    }
    let outcome: String
    let compared: Bool
    let files: Int
    let chunks: Int
    let mountPoint: String?
    let damages: [Item]
  }

  private func json(_ text: String) throws -> Report {
    try JSONDecoder().decode(Report.self, from: Data(text.utf8))
  }

  @Test func aSoundVaultIsClean() throws {
    let vault = try filled()
    let outcome = try verify(vault)
    #expect(outcome.status == 0 && outcome.output.hasSuffix(": no damage\n"), "\(outcome.output)")
    #expect(!outcome.output.contains("\r"), "a progress bar is for a terminal")
    let report = try json(verify(vault, ["--json"]).output)
    #expect(report.outcome == "clean" && report.compared && report.damages.isEmpty)
    #expect(report.files == 2 && report.chunks == 20 && report.mountPoint == nil)
    #expect(try json(verify(vault, ["--json", "--quick"]).output).chunks == 0)
    // Nothing was changed by looking.
    #expect(try verify(vault, ["--repair"]).status == 0)
  }

  @Test(.enabled(if: Command.has("python3"))) func aLostChunkIsNamed() throws {
    let vault = try filled()
    try spoil(vault, "data/0000", slot: 3)
    let outcome = try verify(vault)
    let pattern = /damage: data\/0000 slot 3: file Exports\/[ab].csv bytes (\d+)-(\d+)\n/
    let match = try #require(try pattern.firstMatch(in: outcome.output), "\(outcome.output)")
    #expect(outcome.status == 21)
    let report = try json(verify(vault, ["--json"]).output)
    let item = try #require(report.damages.first)
    #expect(report.outcome == "damaged" && report.damages.count == 1 && item.kind == "chunk")
    #expect(item.objects == ["data/0000"] && item.slot == 3 && item.offset == 3 * 4096)
    #expect(item.firstByte == Int(match.1) && item.lastByte == Int(match.2))
    let tool = try vault.sh(
      """
      "$COFFRE" verify '\(vault.vault)' --json --password-file '\(vault.password)' > json || true
      python3 -m json.tool < json
      """, in: vault.scratch)
    #expect(tool.status == 0, "\(tool.output)")
    // Repairing deletes nothing and invents nothing.
    #expect(try verify(vault, ["--repair"]).status == 21)
    let path = try #require(item.path)
    try vault.open(["--read-only"])
    let chunk = (item.firstByte ?? 0) / 4096
    try vault.check(
      """
      for n in $(seq 0 9); do
        if dd if=\(path) bs=4096 skip=$n count=1 status=none > /dev/null 2>&1
        then test $n != \(chunk); else test $n = \(chunk); fi
      done
      """)
    let status = try vault.coffre(["status"]).output
    #expect(status.contains("1 stored pieces could not be read"), "\(status)")
    #expect(try vault.coffre(["status", "--json"]).output.contains("\"unreadablePieces\": 1"))
  }

  @Test func aDamagedCopyIsRepaired() throws {
    let vault = try filled()
    let slots = try metaSlots(vault)
    let slot = try #require(slots.first)
    try spoil(vault, "meta-b/0000", slot: slot)
    try spoil(vault, "root.1", slot: 0)
    let found = try verify(vault, ["--quick"])
    #expect(found.status == 21 && found.output.contains("damage: meta-b/0000 slot \(slot): "))
    #expect(found.output.contains("damage: root.1: "), "\(found.output)")
    // A mount to read works, and changes nothing.
    try vault.open(["--read-only"])
    try vault.check("cmp Exports/a.csv '\(vault.scratch)/copy'")
    try vault.lock()
    #expect(try verify(vault, ["--quick"]).status == 21)
    let repaired = try verify(vault, ["--repair", "--json"])
    #expect(repaired.status == 22, "\(repaired.output)")
    let report = try json(repaired.output)
    #expect(report.outcome == "repaired" && report.damages.count == 2)
    #expect(report.damages.allSatisfy { $0.repaired })
    #expect(try verify(vault).status == 0)
  }

  @Test func aDamagedConfigurationIsRepaired() throws {
    for object in ["coffre.conf", "coffre.conf.copy"] {
      let vault = try filled()
      try spoil(vault, object, slot: 0)
      let found = try verify(vault)
      #expect(found.status == 21 && found.output.contains("damage: \(object): "))
      #expect(try verify(vault, ["--repair"]).status == 22)
      #expect(try verify(vault).status == 0)
    }
  }

  @Test func aPathIsAPartOfTheVault() throws {
    let vault = try filled()
    try spoil(vault, "data/0000", slot: 3)
    let item = try #require(try json(verify(vault, ["--json"]).output).damages.first)
    let damaged = try #require(item.path)
    let other = damaged == "Exports/a.csv" ? "Exports/b.csv" : "Exports/a.csv"
    #expect(try verify(vault, [damaged]).status == 21)
    #expect(try verify(vault, ["/" + damaged]).status == 21)
    #expect(try verify(vault, ["Exports/"]).status == 21)
    #expect(try verify(vault, [other]).status == 0)
    #expect(try json(verify(vault, ["--json", other]).output).chunks == 10)
    #expect(try verify(vault, ["Exports/none"]).status == 24)
    // A link is checked, not followed.
    #expect(try verify(vault, ["Exports/outside"]).status == 0)
    #expect(try verify(vault, ["Exports/outside/x"]).status == 24)
    #expect(try verify(vault, ["--repair", other]).status == 2)
  }

  @Test func aMountedVaultIsCheckedByItsProcess() throws {
    let vault = try filled()
    try vault.open()
    // The keys are there already: nobody asks for a password.
    let clean = try vault.coffre(["verify", vault.vault, "--json"])
    #expect(clean.status == 0, "\(clean.output)")
    let report = try json(clean.output)
    #expect(report.mountPoint == vault.mount && report.files == 2 && report.chunks == 20)
    let refused = try vault.coffre(["verify", vault.vault, "--repair"])
    #expect(refused.status == 11 && refused.output.contains("lock it first"), "\(refused.output)")
    try spoil(vault, "data/0000", slot: 3)
    let found = try vault.coffre(["verify", vault.vault])
    #expect(found.status == 21 && found.output.contains("damage: data/0000 slot 3: file Exports/"))
    #expect(try vault.coffre(["verify", vault.vault, "none"]).status == 24)
    // A bad copy is healed as a reader would heal it.
    let slot = try #require(metaSlots(vault).last)
    try spoil(vault, "meta-b/0000", slot: slot)
    let healed = try vault.coffre(["verify", vault.vault, "--quick"])
    #expect(healed.output.contains("(repaired)") && healed.status == 22, "\(healed.output)")
    #expect(try vault.coffre(["status"]).output.contains("1 damaged copies made good"))
    #expect(try vault.coffre(["verify", vault.vault, "--quick"]).status == 0)
  }

  /// A check is what one trusts a restored copy by.
  @Test func anOlderStateIsTold() throws {
    let vault = try filled()
    let copied = try vault.sh("cp -a vault backup", in: vault.scratch)
    try #require(copied.status == 0)
    try vault.open()
    try vault.check("echo new > new")
    try vault.lock()
    let swapped = try vault.sh("mv vault new && mv backup vault", in: vault.scratch)
    try #require(swapped.status == 0)
    let outcome = try verify(vault)
    #expect(outcome.status == 13 && outcome.output.contains("warning: the vault is older than"))
    #expect(outcome.output.contains(": no damage"), "\(outcome.output)")
    let json = try verify(vault, ["--json", "--quick"])
    #expect(json.status == 13 && json.output.contains("\"older\": true"), "\(json.output)")
  }

  @Test func whatCannotBeCheckedIsTold() throws {
    let vault = try filled()
    let wrong = vault.scratch + "/wrong"
    try "another\n".write(toFile: wrong, atomically: true, encoding: .utf8)
    #expect(try vault.coffre(["verify", vault.vault, "--password-file", wrong]).status == 3)
    #expect(try vault.coffre(["verify", vault.scratch]).status == 6)
    try spoil(vault, "root.0", slot: 0)
    try spoil(vault, "root.1", slot: 0)
    let outcome = try verify(vault)
    #expect(outcome.status == 5 && outcome.output.contains("both copies of the root"))
  }

  /// The log names what is stored and where, never a file.
  @Test func aReadErrorIsLoggedWithoutNames() throws {
    let vault = try filled()
    try spoil(vault, "data/0000", slot: 3)
    let outcome = try vault.sh(
      """
      "$COFFRE" mount --foreground '\(vault.vault)' '\(vault.mount)' \
        --password-file '\(vault.password)' 2> log &
      until grep -q mounted log; do sleep 0.1; done
      cat mount/Exports/a.csv mount/Exports/b.csv > /dev/null 2>&1 && exit 1
      "$COFFRE" lock '\(vault.vault)'; wait
      cat log
      """, in: vault.scratch)
    #expect(outcome.status == 0, "\(outcome.output)")
    #expect(outcome.output.contains("damage: chunk "), "\(outcome.output)")
    #expect(outcome.output.contains("data/0000 slot 3"), "\(outcome.output)")
    #expect(!outcome.output.contains("csv"), "\(outcome.output)")
  }
}
