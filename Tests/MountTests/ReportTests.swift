import Foundation
import Testing

/// What `info` and `status` print, and a mount that changes nothing.
@Suite(.serialized, .enabled(if: Command.canMount, "no /dev/fuse, fusermount3 or built command"))
struct ReportTests {
  private func json(_ vault: Mounted, _ words: [String]) throws -> Any {
    let outcome = try vault.coffre(words)
    try #require(outcome.status == 0, "\(outcome.output)")
    return try JSONSerialization.jsonObject(with: Data(outcome.output.utf8))
  }

  @Test func statusIsJSON() throws {
    let vault = try Mounted()
    let list = try #require(try json(vault, ["status", "--json"]) as? [[String: Any]])
    let mount = try #require(list.first)
    #expect(list.count == 1)
    // Members may be added, and none goes.
    #expect(
      Set(mount.keys).isSuperset(of: [
        "vault", "mountPoint", "id", "since", "idleSeconds", "lockAfterSeconds", "readOnly",
        "generation", "healedCopies", "process",
      ]))
    #expect(mount["vault"] as? String == vault.vault)
    #expect(mount["mountPoint"] as? String == vault.mount)
    // If nothing is said, it locks itself after 15 minutes.
    #expect(mount["lockAfterSeconds"] as? Int == 900)
    #expect(mount["readOnly"] as? Bool == false)
    #expect(mount["healedCopies"] as? Int == 0)
    let since = try #require(mount["since"] as? Double)
    #expect(abs(since - Date.now.timeIntervalSince1970) < 600)
    let process = try #require(mount["process"] as? Int32)
    #expect(FileManager.default.fileExists(atPath: "/proc/\(process)"))
    try vault.lock()
    let locked = try #require(try json(vault, ["status", "--json"]) as? [[String: Any]])
    #expect(locked.count == 1 && locked.first?["mounted"] as? Bool == false, "\(locked)")
    #expect(locked.first?["vault"] as? String == vault.vault)
    let last = try #require(locked.first?["lastLock"] as? [String: Any])
    #expect(last["cause"] as? String == "requested" && last["problem"] is NSNull)
    try vault.open(["--lock-after", "never", "--read-only"])
    let other = try #require((try json(vault, ["status", "--json"]) as? [[String: Any]])?.first)
    #expect(other["lockAfterSeconds"] is NSNull && other["readOnly"] as? Bool == true)
    #expect(other["id"] as? String == mount["id"] as? String)
    #expect(other["mounted"] as? Bool == true)
    // A second one at the same time does not take the first for gone.
    let second = try vault.makeFolder("second")
    let words = ["mount", vault.vault, second, "--read-only", "--password-file", vault.password]
    #expect(try vault.coffre(words).status == 0)
    let both = try #require(try json(vault, ["status", "--json"]) as? [[String: Any]])
    #expect(both.count == 2)
    let causes = both.map { ($0["lastLock"] as? [String: Any])?["cause"] as? String }
    #expect(causes == ["requested", nil] || causes == [nil, "requested"])
    #expect((other["lastLock"] as? [String: Any])?["cause"] as? String == "requested")
  }

  @Test func statusIsText() throws {
    let vault = try Mounted()
    let lines = try vault.coffre(["status"]).output.split(separator: "\n")
    #expect(lines.first == "\(vault.vault) on \(vault.mount)")
    #expect(lines.contains { $0.contains("locks itself after 15m without use (") }, "\(lines)")
    #expect(lines.contains { $0.hasPrefix("  root generation ") }, "\(lines)")
    try vault.lock()
    let after = try vault.coffre(["status"]).output
    #expect(after.hasPrefix("no vault is mounted\n\(vault.vault) is locked; last lock: "))
    #expect(after.hasSuffix(" ago, somebody asked for it\n"), "\(after)")
  }

  /// Of a vault that is mounted or not, and after a change of the password.
  @Test func infoIsJSON() throws {
    let vault = try Mounted(mounting: false)
    func info() throws -> [String: Any] {
      try #require(try json(vault, ["info", "--json", vault.vault]) as? [String: Any])
    }
    let first = try info()
    #expect(
      Set(first.keys).isSuperset(of: [
        "vault", "id", "formatVersion", "usedKeySlots", "keySlots", "configurationGeneration",
        "configurationCopiesDiffer", "backup", "mountPoints",
      ]))
    #expect(first["vault"] as? String == vault.vault)
    let identifier = try #require(first["id"] as? String)
    #expect(identifier.wholeMatch(of: /[0-9a-f]{32}/) != nil, "\(identifier)")
    #expect(first["usedKeySlots"] as? Int == 1 && first["keySlots"] as? Int == 8)
    #expect(first["configurationCopiesDiffer"] as? Bool == false)
    #expect((first["mountPoints"] as? [String])?.isEmpty == true)
    try vault.open()
    let words = ["--password-file", vault.password, "--new-password-file", vault.password]
    #expect(try vault.coffre(["passwd", vault.vault] + words).status == 0)
    let second = try info()
    #expect(second["mountPoints"] as? [String] == [vault.mount])
    #expect(second["id"] as? String == identifier)
    let generations = [first, second].compactMap { $0["configurationGeneration"] as? Int }
    #expect(generations.count == 2 && generations[0] < generations[1])
    try vault.lock()
    let text = try vault.coffre(["info", vault.vault]).output
    #expect(text.contains("id              \(identifier)\n"), "\(text)")
    #expect(text.contains("mounted         no\n"), "\(text)")
    // One copy that is damaged is told, and mended by the next mount.
    let outcome = try vault.sh("printf x >> vault/coffre.conf.copy", in: vault.scratch)
    #expect(outcome.status == 0)
    #expect(try info()["configurationCopiesDiffer"] as? Bool == true)
    try vault.open()
    try vault.lock()
    #expect(try info()["configurationCopiesDiffer"] as? Bool == false)
  }

  /// Names in a path are what they are: quotes and line ends do not break the JSON.
  @Test func oddPathsAreQuoted() throws {
    let vault = try Mounted(mounting: false)
    let folder = try vault.makeFolder("a \"b\\ \u{1}\n\u{e9}\u{7f}\u{9b}")
    let outcome = try vault.coffre(
      ["mount", vault.vault, folder, "--password-file", vault.password])
    #expect(outcome.status == 0, "\(outcome.output)")
    let list = try #require(try json(vault, ["status", "--json"]) as? [[String: Any]])
    #expect(list.first?["mountPoint"] as? String == folder)
    try vault.lock()
  }

  /// Every change is refused, and no file of the vault is touched: not even to recover it, after a
  /// kill.
  @Test(.enabled(if: Command.has("python3"), "no python3"))
  func aReadOnlyMountChangesNothing() throws {
    let vault = try Mounted()
    try vault.check(
      "mkdir folder && seq 30000 > folder/file && ln folder/file link && sync link && mkdir late")
    try vault.kill()
    let look = "find vault -printf '%p %i %s %m %T@ %C@\\n' -exec cksum {} + 2>/dev/null | sort"
    func listing() throws -> String { try vault.sh(look + " || true", in: vault.scratch).output }
    let before = try listing()
    #expect(before.contains("vault/journal"))
    try vault.open(["--read-only"])
    try vault.check(
      """
      test "$(tail -n 1 folder/file)" = 30000 && test -d late
      /usr/bin/python3 - <<'END'
      import errno, os
      calls = [
        lambda: os.open("folder/file", os.O_WRONLY), lambda: os.open("new", os.O_CREAT),
        lambda: os.open("folder/file", os.O_RDONLY | os.O_TRUNC), lambda: os.mkdir("new"),
        lambda: os.truncate("folder/file", 0), lambda: os.unlink("link"),
        lambda: os.rmdir("late"), lambda: os.rename("link", "other"),
        lambda: os.link("link", "other"), lambda: os.symlink("x", "other"),
        lambda: os.mkfifo("other"), lambda: os.chmod("link", 0o777),
        lambda: os.chown("link", 1, 1), lambda: os.utime("link"),
        lambda: os.setxattr("link", "user.a", b""), lambda: os.removexattr("link", "user.a"),
      ]
      for number, call in enumerate(calls):
        try:
          call()
          raise SystemExit("call %d works" % number)
        except OSError as failure:
          assert failure.errno == errno.EROFS, (number, failure)
      os.close(os.open("folder/file", os.O_RDONLY))
      END
      """)
    try vault.lock()
    let after = try listing()
    #expect(before == after)
    try vault.open()
    try vault.check("echo fine > file")
    try vault.lock()
    #expect(try listing() != before)
  }
}
