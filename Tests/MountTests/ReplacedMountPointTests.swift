import Testing

/// Between the look at a mount point and the mount a person types a password; whoever may write in
/// the folder above can put something else there meanwhile.
@Suite(.serialized, .enabled(if: Command.canMount, "no /dev/fuse, fusermount3 or built command"))
struct ReplacedMountPointTests {
  /// What happens in a folder with the mount point `place` and the folders `full` and `empty`.
  private static let swaps = [
    "rmdir place && ln -s ../other/full place", "rmdir place && ln -s ../other/empty place",
    "mv ../above ../moved && ln -s other ../above", "echo saved > place/saved",
  ]

  @Test(arguments: swaps, ["", "--foreground"])
  func nothingElseIsMountedOver(swap: String, kind: String) throws {
    let vault = try Mounted(mounting: false)
    let outcome = try vault.sh(
      """
      mkdir above above/place other other/place other/full other/empty
      echo kept > other/full/kept
      echo kept > other/place/kept
      state() { stat -c '%n %a' other/* && { lsattr -d other/* 2> /dev/null || true; }; }
      state > before
      status=0
      command="cd '$PWD/above' && { \(swap); } && cat '$PWD/password'"
      timeout 60 "$COFFRE" mount \(kind) vault above/place \\
        --password-command "$command" || status=$?
      if grep " $PWD/other" /proc/self/mountinfo; then umount -l other/*; exit 1; fi
      state > after
      cmp before after
      exit $status
      """, in: vault.scratch)
    #expect(outcome.status == 9, "\(outcome.output)")
    #expect(outcome.output.contains("error: the mount point"), "\(outcome.output)")
    // The vault is closed, and can be mounted.
    try vault.open()
  }

  /// Of root's own folders none gets a flag that nobody asked for; nor does a mount go astray.
  @Test(.enabled(if: Command.isRoot && Command.has("strace"), "strace(1) holds a call of root's"))
  func aFolderThatMovesAtTheVeryMountIsNotKept() throws {
    let vault = try Mounted(mounting: false)
    let outcome = try vault.sh(
      """
      mkdir above above/place
      status=0
      strace -f -q -o trace -e trace=mount -e inject=mount:delay_enter=3s \
        "$COFFRE" mount vault above/place --password-file password &
      while ! grep -q 'mount(' trace 2> /dev/null; do sleep 0.05; done
      sleep 0.5
      mv above/place above/moved
      wait $! || status=$?
      if grep " $PWD/above" /proc/self/mountinfo; then umount -l above/*; exit 1; fi
      if lsattr -d above/moved | grep -q '^[^ ]*i'; then echo flag; exit 1; fi
      exit $status
      """, in: vault.scratch)
    #expect(outcome.status == 9, "\(outcome.output)")
    try vault.open()
  }
}
