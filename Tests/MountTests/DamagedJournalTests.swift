import Testing

/// What a person meets whose vault was killed and has a damaged journal since.
@Suite(.serialized, .enabled(if: Command.canMount, "no /dev/fuse, fusermount3 or built command"))
struct DamagedJournalTests {
  /// A vault with a file of before the last root, and three that were synced and then lost.
  private func damaged() throws -> Mounted {
    let vault = try Mounted()
    try vault.check("echo one > kept && sync kept")
    try vault.reopen()
    try vault.check("for name in a b c; do echo $name > $name; sync $name; done")
    try vault.kill()
    let outcome = try vault.sh(
      """
      for segment in vault/journal/*; do
        printf damaged | dd of=$segment bs=1 seek=100 conv=notrunc status=none
      done
      """, in: vault.scratch)
    try #require(outcome.status == 0, "\(outcome.output)")
    return vault
  }

  private func mount(_ vault: Mounted, _ options: [String]) throws -> Outcome {
    try vault.coffre(
      ["mount", vault.vault, vault.mount, "--password-file", vault.password] + options)
  }

  private func sums(_ vault: Mounted) throws -> String {
    try vault.sh("find vault -type f | sort | xargs cksum", in: vault.scratch).output
  }

  @Test func isRefusedWithTheWaysOn() throws {
    let vault = try damaged()
    let before = try sums(vault)
    for _ in 0..<2 {
      let outcome = try mount(vault, [])
      #expect(outcome.status == 20, "\(outcome.output)")
      let lines = outcome.output.split(separator: "\n")
      #expect(lines.count == 2, "\(outcome.output)")
      #expect(lines.first?.contains("error: the journal is damaged in journal/0") == true)
      let hint = lines.last ?? ""
      #expect(hint.contains("--read-only") && hint.contains("--accept-journal-loss"), "\(hint)")
      #expect(!vault.isMounted(vault.mount))
    }
    #expect(try sums(vault) == before)
  }

  @Test func canBeReadUpToTheDamage() throws {
    let vault = try damaged()
    let before = try sums(vault)
    let outcome = try mount(vault, ["--read-only"])
    #expect(outcome.status == 0 && outcome.output.contains("are not shown"), "\(outcome.output)")
    try vault.check("test \"$(cat kept)\" = one && test ! -e a && ! touch new 2>/dev/null")
    let status = try vault.coffre(["status"]).output
    #expect(status.contains("problem: the journal is damaged in journal/0"), "\(status)")
    try vault.lock()
    #expect(try sums(vault) == before)
  }

  @Test func goesOnOnceTheLossIsAccepted() throws {
    let vault = try damaged()
    let outcome = try mount(vault, ["--accept-journal-loss"])
    #expect(outcome.status == 0 && outcome.output.contains("are given up"), "\(outcome.output)")
    #expect(try vault.coffre(["status"]).output.contains("are given up"))
    try vault.check("test \"$(cat kept)\" = one && test ! -e a && echo new > d && sync d")
    try vault.reopen()
    try vault.check("test \"$(cat kept)\" = one && test ! -e a && test \"$(cat d)\" = new")
    let status = try vault.coffre(["status", "--json"]).output
    #expect(status.contains("\"problems\": []"), "\(status)")
  }

  /// It is found by a check, which mends nothing here: what to give up is for a person to say.
  @Test func isFoundByACheck() throws {
    let vault = try damaged()
    let before = try sums(vault)
    for words in [[], ["--quick"], ["--repair"]] {
      let outcome = try vault.coffre(
        ["verify", vault.vault, "--password-file", vault.password] + words)
      #expect(outcome.status == 21, "\(outcome.output)")
      #expect(outcome.output.contains("damage: journal/0"), "\(outcome.output)")
      let isTold = outcome.output.contains("not all is repaired: the journal is damaged")
      #expect(isTold == words.contains("--repair"), "\(outcome.output)")
    }
    #expect(try sums(vault) == before)
  }
}
