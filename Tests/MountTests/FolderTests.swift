import Testing

/// A vault is its folder, not the path it was mounted by.
@Suite(.serialized, .enabled(if: Command.canMount, "no /dev/fuse, fusermount3 or built command"))
struct FolderTests {
  /// Neither lock nor passwd may take the mounted one for the copy that lies at its old path.
  @Test func aCopyAtTheOldPathIsAnotherVault() throws {
    let vault = try Mounted()
    let outcome = try vault.sh(
      """
      mv vault moved
      trap 'rm -rf vault; mv moved vault' EXIT
      cp -a moved vault
      cp moved/coffre.conf before
      echo 'another password' > new
      "$COFFRE" passwd vault --password-file password --new-password-file new
      mountpoint -q mount
      if "$COFFRE" lock vault; then echo 'the copy was locked'; exit 1; fi
      mountpoint -q mount
      "$COFFRE" lock moved
      if mountpoint -q mount; then echo 'still mounted'; exit 1; fi
      # The password of the mounted one is as it was.
      cmp moved/coffre.conf before
      """, in: vault.scratch)
    #expect(outcome.status == 0, "\(outcome.output)")
  }
}
