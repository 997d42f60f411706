import Foundation
import Testing

/// A vault that somebody has altered, as a person meets it: `coffre mount` says what is wrong, with
/// the documented exit code, soon, and follows nothing. `TamperTests` has the many cases.
@Suite(.serialized, .enabled(if: Command.canMount, "no /dev/fuse, fusermount3 or built command"))
struct TamperMountTests {
  /// A shell command on the vault's folder, the exit code of the mount, and what it must say.
  struct Case: CustomTestStringConvertible {
    let script: String
    let status: Int32
    var says = ""
    var testDescription: String { script }
  }

  private static let both = "for copy in coffre.conf coffre.conf.copy; do"

  static let refused = [
    Case(script: "\(both) rm $copy; mkfifo $copy; done", status: 4, says: "configuration"),
    Case(script: "\(both) rm $copy; mkdir $copy; done", status: 4, says: "configuration"),
    Case(script: "\(both) truncate -s 0 $copy; done", status: 4, says: "configuration"),
    Case(script: "\(both) truncate -s 100 $copy; done", status: 4, says: "configuration"),
    Case(
      script: "\(both) mv $copy ../$copy; ln -s ../$copy $copy; done", status: 4,
      says: "configuration"),
    Case(
      script: "\(both) head -c 4096 /dev/zero > $copy; done", status: 4, says: "configuration"),
    Case(script: "rm coffre.conf coffre.conf.copy", status: 7, says: "configuration is missing"),
    Case(script: "rm root.0 root.1; mkfifo root.0 root.1", status: 5, says: "root"),
    Case(
      script: "mv root.0 root.1 ..; ln -s ../root.0 root.0; ln -s ../root.1 root.1", status: 5,
      says: "root"),
    Case(script: "mv data ..; ln -s ../data data", status: 5, says: "data"),
    Case(script: "mv meta-a ..; ln -s ../meta-a meta-a", status: 5, says: "meta-a"),
    Case(script: "rm meta-b/0000; mkfifo meta-b/0000", status: 5, says: "meta-b/0000"),
    Case(script: "mv journal ..; ln -s ../journal journal", status: 5, says: "journal"),
    Case(script: "rm lock; mkfifo lock", status: 5, says: "lock"),
    Case(script: "mv lock ..; ln -s ../lock lock", status: 5, says: "lock"),
    Case(script: "ln -f meta-a/0000 meta-b/0000", status: 5, says: "second name"),
  ]

  @Test(arguments: refused) func whatCannotBeOpenedIsRefusedByName(altered: Case) throws {
    let vault = try Mounted()
    try vault.check("echo kept > file; mkdir folder")
    try vault.lock()
    try altered.apply(to: vault)
    let before = try vault.beside()
    let outcome = try vault.timed()
    #expect(outcome.status == altered.status, "\(altered.script): \(outcome.output)")
    #expect(outcome.output.contains(altered.says), "\(altered.script): \(outcome.output)")
    #expect(!vault.isMounted(vault.mount))
    #expect(try vault.beside() == before, "a link was followed")
  }

  static let mended = [
    "rm coffre.conf; mkfifo coffre.conf", "mv coffre.conf ..; ln -s ../coffre.conf coffre.conf",
    "truncate -s 8192 coffre.conf.copy", "rm root.0; mkfifo root.0",
    "mv root.1 ..; ln -s ../root.1 root.1", "truncate -s 1T root.0", "truncate -s 100 root.1",
    "rm meta-a/0000", "truncate -s 0 meta-b/0000", "truncate -s 1T meta-a/0000",
    "rm reserve; mkfifo reserve", "rm -r CACHEDIR.TAG; mkfifo CACHEDIR.TAG", "ln -f root.0 root.1",
  ]

  @Test(arguments: mended) func whatIsThereTwiceIsMended(script: String) throws {
    let vault = try Mounted()
    try vault.check("echo kept > file; mkdir folder")
    try vault.lock()
    try Case(script: script, status: 0).apply(to: vault)
    let outcome = try vault.timed()
    #expect(outcome.status == 0, "\(script): \(outcome.output)")
    try vault.check("test \"$(cat file)\" = kept; echo more > other; sync; ls folder")
    try vault.reopen()
    try vault.check("test \"$(cat file)\" = kept; test \"$(cat other)\" = more")
  }

  /// A whole vault of an earlier time is put back.
  @Test func anOlderVaultIsRefusedUntilItIsAccepted() throws {
    let vault = try Mounted()
    try vault.check("echo one > file")
    try vault.lock()
    try vault.keep("vault", as: "backup")
    try vault.open()
    try vault.check("echo two > file")
    try vault.lock()
    try vault.keep("vault", as: "newer")
    try vault.put("backup")

    let refused = try vault.timed()
    #expect(refused.status == 13, "\(refused.output)")
    #expect(refused.output.contains("older than"), "\(refused.output)")
    #expect(refused.output.contains("hint:") && refused.output.contains("--accept-older"))

    let read = try vault.timed(["--read-only"])
    #expect(read.status == 0 && read.output.contains("warning: this vault is older"))
    try vault.check("test \"$(cat file)\" = one")
    try vault.lock()
    #expect(try vault.timed().status == 13, "looking at it accepts nothing")

    let accepted = try vault.timed(["--accept-older"])
    #expect(accepted.status == 0, "\(accepted.output)")
    #expect(accepted.output.contains("an older state of the vault was accepted"))
    try vault.check("test \"$(cat file)\" = one; echo three > file")
    try vault.lock()
    let again = try vault.timed()
    #expect(again.status == 0 && !again.output.contains("older"), "\(again.output)")
    try vault.check("test \"$(cat file)\" = three")
    try vault.lock()

    try vault.put("newer")
    let discarded = try vault.timed()
    #expect(discarded.status == 13, "\(discarded.output)")
    #expect(discarded.output.contains("--accept-older"), "\(discarded.output)")
  }

  /// With the configuration of that time, under a password changed since: the backup belongs
  /// together, and the hint is the same.
  @Test func aBackupFromBeforeAChangeOfThePassword() throws {
    let vault = try Mounted()
    try vault.check("echo one > file")
    try vault.lock()
    try vault.keep("vault", as: "backup")
    try "another password\n".write(
      toFile: vault.scratch + "/new", atomically: true, encoding: .utf8)
    let change = try vault.coffre(
      [
        "passwd", vault.vault, "--password-file", vault.password, "--new-password-file",
        vault.scratch + "/new",
      ])
    #expect(change.status == 0, "\(change.output)")
    try vault.keep("vault", as: "newer")
    try vault.put("backup")
    let refused = try vault.timed()
    #expect(refused.status == 13 && refused.output.contains("--accept-older"), "\(refused.output)")

    // The old configuration alone, in the newer vault: an old password put back.
    try vault.put("newer")
    let outcome = try vault.sh("cp backup/coffre.conf* vault/", in: vault.scratch)
    #expect(outcome.status == 0, "\(outcome.output)")
    for options in [[], ["--accept-older"], ["--read-only"]] as [[String]] {
      let old = try vault.timed(options)
      #expect(old.status == 13, "\(options): \(old.output)")
      #expect(old.output.contains("the configuration is older"), "\(options): \(old.output)")
    }
    // And the backup as a whole, on purpose.
    try vault.put("backup")
    #expect(try vault.timed(["--accept-older"]).status == 0)
    try vault.check("test \"$(cat file)\" = one")
  }

  @Test func aMachineThatNeverSawTheVaultSaysSo() throws {
    let vault = try Mounted()
    try vault.check("echo kept > file")
    try vault.lock()
    let sentence = "warning: this machine sees the vault for the first time and trusts what it sees"
    #expect(try !vault.timed().output.contains("first time"))
    try vault.lock()
    try vault.forget()
    let first = try vault.timed()
    #expect(first.status == 0 && first.output.contains(sentence), "\(first.output)")
    try vault.lock()
    let second = try vault.timed()
    #expect(second.status == 0 && !second.output.contains("first time"), "\(second.output)")
    try vault.lock()
    // What is there is not what this machine wrote.
    let spoil = "for file in state/coffre/*; do echo spoilt > $file; done"
    #expect(try vault.sh(spoil, in: vault.scratch).status == 0)
    let third = try vault.timed()
    #expect(third.status == 0 && third.output.contains("warning: what this machine remembered"))
  }
}

extension TamperMountTests.Case {
  fileprivate func apply(to vault: Mounted) throws {
    let outcome = try vault.sh(script, in: vault.vault)
    try #require(outcome.status == 0, "\(script): \(outcome.output)")
  }
}

extension Mounted {
  /// Mounts; one that waits for something is ended after a minute, with 124.
  fileprivate func timed(_ options: [String] = []) throws -> Outcome {
    try sh(
      """
      timeout 60 "$COFFRE" mount \(options.joined(separator: " ")) '\(vault)' '\(mount)' \
        --password-file '\(password)'
      """, in: "/")
  }

  /// The files beside the vault, with what they hold.
  fileprivate func beside() throws -> String {
    try sh(
      """
      find . -path ./vault -prune -o -type f ! -name 'log-*' ! -path './state/*' \\
        -exec sha256sum {} + | sort
      """, in: scratch
    ).output
  }

  fileprivate func keep(_ name: String, as other: String) throws {
    let outcome = try sh("cp -a '\(name)' '\(other)'", in: scratch)
    try #require(outcome.status == 0, "\(outcome.output)")
  }

  /// Puts a copy that was kept in the vault's place.
  fileprivate func put(_ name: String) throws {
    let outcome = try sh(
      """
      "$COFFRE" lock vault 2>/dev/null || true
      rm -rf vault && cp -a '\(name)' vault
      """, in: scratch)
    try #require(outcome.status == 0, "\(outcome.output)")
  }

  /// As if this machine had never seen a vault.
  fileprivate func forget() throws {
    let outcome = try sh("rm -r state", in: scratch)
    try #require(outcome.status == 0, "\(outcome.output)")
  }
}
