import Foundation
import Testing

/// Whether backups take a vault's ciphertext: said at `init`, changed later, kept up by each mount.
@Suite(.serialized, .enabled(if: Command.canMount, "no /dev/fuse, fusermount3 or built command"))
struct BackupPolicyTests {
  private static let hasTools = Command.has("getfattr") && Command.has("lsattr")

  /// All four markers, or none.
  private static let isMarked =
    """
    test "$(head -c 43 vault/CACHEDIR.TAG)" = 'Signature: 8a477f597d28d172789f06886806bc55' &&
    test -f vault/.nobackup &&
    test "$(getfattr --only-values -n user.xdg.robots.backup vault)" = false &&
    lsattr -d vault | grep -q '^[^ ]*d'
    """
  private static let isBare =
    """
    test ! -e vault/CACHEDIR.TAG; test ! -e vault/.nobackup; test -z "$(getfattr -d vault)"
    if lsattr -R vault | grep -q '^[^ ]*d[^ ]* '; then lsattr -R vault; exit 1; fi
    """

  private func check(_ vault: Mounted, _ script: String) throws {
    let outcome = try vault.sh(script, in: vault.vault + "/..")
    #expect(outcome.status == 0, "\(script)\n\(outcome.output)")
  }

  private func policy(_ vault: Mounted) throws -> String {
    let outcome = try vault.coffre(["backup-policy", vault.vault])
    let info = try vault.coffre(["info", vault.vault]).output
    #expect(info.contains("\nbackup          \(outcome.output)"), "\(info)")
    return outcome.output
  }

  /// On ext4, which has all of it; what is made in a marked folder inherits the flag there.
  @Test(
    .enabled(if: LowerDisk.canMake && hasTools, "only root makes an ext4, lsattr and getfattr look")
  )
  func theMarkersComeAndGo() throws {
    let vault = try Mounted(on: .ext4)
    try check(vault, Self.isMarked)
    #expect(try policy(vault) == "exclude\n")
    try vault.check("echo kept > file")

    // While it is mounted as well, and each time once more.
    for _ in 1...2 {
      let change = try vault.coffre(["backup-policy", vault.vault, "include-ciphertext"])
      #expect(change.status == 0 && change.output == "", "\(change.output)")
      try check(vault, Self.isBare)
      #expect(try policy(vault) == "include-ciphertext\n")
    }
    try vault.reopen()
    try check(vault, Self.isBare)
    try vault.lock()
    for _ in 1...2 {
      let change = try vault.coffre(["backup-policy", vault.vault, "exclude"])
      #expect(change.status == 0 && change.output == "", "\(change.output)")
      try check(vault, Self.isMarked)
    }
    #expect(try policy(vault) == "exclude\n")

    // What copies it back leaves things out.
    let losses = [
      "rm vault/CACHEDIR.TAG", "rm vault/.nobackup; setfattr -x user.xdg.robots.backup vault",
      "chattr -d vault; echo > vault/CACHEDIR.TAG",
    ]
    for loss in losses {
      try check(vault, loss)
      try vault.open(["--read-only"])
      try vault.lock()
      try check(vault, "if (\(Self.isMarked)) 2> /dev/null; then exit 1; fi")
      try vault.open()
      try check(vault, Self.isMarked)
      try vault.check("test \"$(cat file)\" = kept")
      try vault.lock()
    }
  }

  @Test func initTakesThePolicy() throws {
    let vault = try Mounted(mounting: false)
    func make(_ words: [String]) throws -> Outcome {
      try vault.sh("rm -rf other; mkdir other; echo > other/CACHEDIR.TAG", in: vault.scratch)
      let path = vault.scratch + "/other"
      return try vault.coffre(["init", path, "--password-file", vault.password] + words)
    }
    func names() throws -> [String] {
      try FileManager.default.contentsOfDirectory(atPath: vault.scratch + "/other")
    }
    #expect(try make(["--backup", "include-ciphertext"]).status == 0)
    #expect(Set(try names()).isDisjoint(with: ["CACHEDIR.TAG", ".nobackup"]))
    #expect(try make(["--backup=exclude"]).status == 0)
    #expect(Set(try names()).isSuperset(of: ["CACHEDIR.TAG", ".nobackup"]))
    let refused = try make(["--backup", "never"])
    #expect(refused.status == 2 && refused.output.contains("include-ciphertext"))
    #expect(try names() == ["CACHEDIR.TAG"], "nothing is made")
  }

  @Test func whatCannotBeIsRefused() throws {
    let vault = try Mounted(mounting: false)
    let word = try vault.coffre(["backup-policy", vault.vault, "plain"])
    #expect(word.status == 2 && word.output.contains("exclude or include-ciphertext"))
    let nothing = try vault.coffre(["backup-policy", vault.scratch])
    #expect(nothing.status == 6, "\(nothing.output)")
    let outside = try vault.coffre(["backup-policy", vault.scratch, "exclude"])
    #expect(outside.status == 6, "\(outside.output)")
    #expect(!FileManager.default.fileExists(atPath: vault.scratch + "/.nobackup"))
  }

  /// The way docs/BACKUP.md has: the ciphertext goes to a backup while the vault is locked, and is
  /// accepted once it is put back.
  @Test func aCiphertextBackupIsPutBack() throws {
    let vault = try Mounted()
    try vault.check("echo before > file")
    #expect(try vault.coffre(["backup-policy", vault.vault, "include-ciphertext"]).status == 0)
    try vault.lock()
    try vault.sh("tar --exclude-caches-all -cf backup vault", in: vault.scratch)
    try vault.open()
    try vault.check("echo after > file; echo more > other")
    try vault.lock()
    try vault.sh("rm -rf vault && tar -xf backup", in: vault.scratch)
    let mount = ["mount", vault.vault, vault.mount, "--password-file", vault.password]
    let refused = try vault.coffre(mount)
    #expect(refused.status == 13 && refused.output.contains("--accept-older"), "\(refused.output)")
    try vault.open(["--accept-older"])
    try vault.check("test \"$(cat file)\" = before; test ! -e other; echo again > file")
    try vault.reopen()
    try vault.check("test \"$(cat file)\" = again")
    let check = try vault.coffre(["verify", vault.vault])
    #expect(check.status == 0 && check.output.contains("no damage"), "\(check.output)")
  }
}
