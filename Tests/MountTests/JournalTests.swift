import Foundation
import Testing

/// `coffre journal` on real mounts: what was done is told, in order; nothing of what is inside is.
@Suite(.serialized, .enabled(if: Command.canMount, "no /dev/fuse, fusermount3 or built command"))
struct JournalTests {
  private func journal(_ vault: Mounted, _ options: [String] = []) throws -> [String: Any] {
    let outcome = try vault.coffre(
      ["journal", vault.vault, "--json", "--password-file", vault.password] + options)
    try #require(outcome.status == 0, "\(outcome.output)")
    let found = try JSONSerialization.jsonObject(with: Data(outcome.output.utf8))
    return try #require(found as? [String: Any])
  }

  private func entries(_ vault: Mounted, _ options: [String] = []) throws -> [[String: Any]] {
    try #require(try journal(vault, options)["entries"] as? [[String: Any]])
  }

  private func events(_ vault: Mounted) throws -> [String] {
    try entries(vault).compactMap { $0["event"] as? String }
  }

  @Test func whatWasDoneIsTold() throws {
    let vault = try Mounted(mounting: false)
    try vault.sh("echo 'another password' > wrong", in: vault.scratch)
    let guess = ["mount", vault.vault, vault.mount, "--password-file", vault.scratch + "/wrong"]
    for _ in 0..<2 { #expect(try vault.coffre(guess).status == 3) }
    try vault.open()
    let passwd = ["--password-file", vault.password, "--new-password-file", vault.password]
    #expect(try vault.coffre(["passwd", vault.vault] + passwd).status == 0)
    #expect(try vault.coffre(["verify", vault.vault, "--quick"]).status == 0)
    // The same through the mount and without it.
    #expect(try events(vault) == ["unlock", "password-change", "verify"])
    try vault.lock()
    try vault.open(["--lock-at-most", "1s"])
    try vault.sh("while mountpoint -q mount; do sleep 0.1; done", in: vault.scratch)
    try vault.sh("while \"$COFFRE\" status | grep -q '^  '; do sleep 0.1; done", in: vault.scratch)
    try vault.open()
    try vault.kill()
    try vault.open()
    try vault.lock()
    let found = try entries(vault)
    #expect(
      found.compactMap { $0["event"] as? String } == [
        "unlock", "password-change", "verify", "lock", "unlock", "lock", "unlock", "lock", "unlock",
        "lock",
      ])
    #expect(found.compactMap { $0["number"] as? Int } == Array(1...10))
    let causes = found.compactMap { $0["cause"] as? String }
    #expect(causes == ["requested", "at-most", "killed", "requested"])
    #expect(found[0]["failedAttempts"] as? Int == 2 && found[0]["slot"] as? Int == 0)
    #expect((found[0]["firstFailedAttempt"] as? String)?.hasSuffix("Z") == true)
    #expect(found[4]["failedAttempts"] as? Int == 0)
    #expect(found[2]["outcome"] as? String == "clean" && found[2]["quick"] as? Bool == true)
    #expect(found.allSatisfy { $0["user"] as? UInt32 == getuid() })
    #expect(found.allSatisfy { $0["program"] as? String == "coffre" })
    let times = found.compactMap { $0["time"] as? String }
    #expect(times == times.sorted() && times.count == 10)
    let text = try vault.coffre(["journal", vault.vault, "--password-file", vault.password])
    #expect(text.status == 0 && text.output.split(separator: "\n").count == 11, "\(text.output)")
    #expect(text.output.contains("locked: the time of --lock-at-most was over\n"))
    #expect(text.output.contains("unlocked, key slot 0; 2 failed attempts before it, the first 20"))
  }

  /// What `get` and `cat` hand out is told.
  @Test(arguments: FileVault.Way.allCases)
  func whatLeavesTheVaultIsTold(way: FileVault.Way) throws {
    let files = try FileVault(way)
    try files.check(
      """
      head -c 5000000 /dev/zero > large
      printf 12345 > small
      c mkdir "$V" folder
      c put "$V" small folder/small
      c put "$V" large folder/large
      c get "$V" folder/small out
      c cat "$V" folder/small > out
      c get -r "$V" folder
      fails 24 get "$V" nothing out2
      """)
    let found = try journal(files.vault)
    let all = try ["entries", "waiting"].flatMap { name in
      try #require(found[name] as? [[String: Any]])
    }
    let exports = all.filter { $0["event"] as? String == "export" }
    #expect(exports.map { $0["files"] as? Int } == [1, 1, 2])
    #expect(exports.map { $0["bytes"] as? Int } == [5, 5, 5_000_005])
    #expect(exports.allSatisfy { $0["way"] as? String == "get" })
    #expect(exports.allSatisfy { $0["user"] as? UInt32 == getuid() })
  }

  /// A planted name and content are in no output, nor in what is kept beside the anchor.
  @Test func nothingFromInsideIsTold() throws {
    let vault = try Mounted()
    try vault.check(
      """
      mkdir planted-folder
      echo planted-content > planted-folder/planted-file
      sync -d planted-folder/planted-file
      """)
    #expect(try vault.coffre(["verify", vault.vault, "planted-folder"]).status == 0)
    let open = try vault.coffre(["journal", vault.vault])
    try vault.lock()
    let verify = ["verify", vault.vault, "/planted-folder", "--password-file", vault.password]
    #expect(try vault.coffre(verify).status == 0)
    let locked = try vault.coffre(
      ["journal", vault.vault, "--json", "--password-file", vault.password])
    #expect(open.status == 0 && locked.status == 0)
    for text in [open.output, locked.output] { #expect(!text.contains("planted"), "\(text)") }
    let outcome = try vault.sh("! grep -rq planted state coffre", in: vault.scratch)
    #expect(outcome.status == 0, "\(outcome.output)")
  }

  /// Without the password nothing is told; a guess is counted.
  @Test func aStrangerGetsNothing() throws {
    let vault = try Mounted(mounting: false)
    try vault.sh("echo 'another password' > wrong", in: vault.scratch)
    let outcome = try vault.coffre(
      ["journal", vault.vault, "--password-file", vault.scratch + "/wrong"])
    #expect(outcome.status == 3)
    #expect(outcome.output == "coffre: error: the password does not open this vault\n")
    try vault.open()
    #expect(try entries(vault)[0]["failedAttempts"] as? Int == 1)
    try vault.lock()
  }

  /// What does not write to the vault waits beside the anchor, and is taken over once.
  @Test func whatWritesNothingIsNoted() throws {
    let vault = try Mounted(mounting: false)
    let verify = ["verify", vault.vault, "--password-file", vault.password]
    #expect(try vault.coffre(verify).status == 0)
    try vault.open(["--read-only"])
    try vault.lock()
    let before = try journal(vault)
    let waiting = try #require(before["waiting"] as? [[String: Any]])
    #expect(waiting.compactMap { $0["event"] as? String } == ["verify", "unlock", "lock"])
    #expect(before["count"] as? Int == 0)
    // Sealed: the words are not there.
    let notes = try vault.sh("cp state/coffre/*.notes kept; cat kept", in: vault.scratch).output
    #expect(!notes.contains("coffre"))
    try vault.open()
    try vault.lock()
    // Put back, they are not taken over again.
    try vault.sh(
      "id=$(\"$COFFRE\" info vault | sed -n 's/^id  *//p'); cp kept state/coffre/$id.notes",
      in: vault.scratch)
    try vault.open()
    try vault.lock()
    let found = try entries(vault)
    #expect(
      found.compactMap { $0["event"] as? String } == [
        "verify", "unlock", "lock", "unlock", "lock", "unlock", "lock",
      ])
    #expect(
      found.compactMap { $0["noted"] as? Bool } == [true, true, true, false, false, false, false])
    #expect(found[1]["readOnly"] as? Bool == true && found[3]["readOnly"] as? Bool == false)
  }

  /// The log of an accepted older state says that it is one.
  @Test func anOlderStateIsTold() throws {
    let vault = try Mounted()
    try vault.lock()
    try vault.sh("cp -a vault older", in: vault.scratch)
    for _ in 0..<2 {
      try vault.open()
      try vault.lock()
    }
    let whole = try journal(vault)
    #expect(whole["count"] as? Int == 6)
    try vault.sh("rm -r vault && mv older vault", in: vault.scratch)
    let look = try vault.coffre(["journal", vault.vault, "--password-file", vault.password])
    #expect(look.output.contains("warning: the vault is older than"), "\(look.output)")
    try vault.open(["--accept-older"])
    #expect(try events(vault) == ["unlock", "lock", "accept-older", "unlock"])
    #expect(try journal(vault)["older"] as? Bool == false)
    try vault.lock()
  }

  @Test func sinceLimitsWhatIsShown() throws {
    let vault = try Mounted()
    try vault.lock()
    #expect(try entries(vault, ["--since", "1h"]).count == 2)
    #expect(try entries(vault, ["--since", "2000-01-01"]).count == 2)
    let late = try journal(vault, ["--since", "2099-12-31"])
    #expect((late["entries"] as? [Any])?.isEmpty == true && late["count"] as? Int == 2)
    let bad = try vault.coffre(["journal", vault.vault, "--since", "yesterday"])
    #expect(bad.status == 2 && bad.output.contains("neither a duration nor a date"))
  }

  /// A repair says what it did; and what is damaged of the log itself is told.
  @Test func aRepairIsTold() throws {
    let vault = try Mounted()
    try vault.lock()
    try vault.sh("printf x >> vault/coffre.conf.copy", in: vault.scratch)
    let repair = ["verify", vault.vault, "--repair", "--password-file", vault.password]
    #expect(try vault.coffre(repair).status == 22)
    let found = try entries(vault)
    #expect(found.last?["event"] as? String == "verify" && found.last?["repair"] as? Bool == true)
    #expect(found.last?["outcome"] as? String == "repaired")
    #expect(found.last?["damages"] as? Int == 1 && found.last?["left"] as? Int == 0)
  }
}
