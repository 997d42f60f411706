import Testing

/// Locked, the mount point takes nothing: the next save of an editor must not land there in clear.
///
/// For an ordinary user, see UserTests.
@Suite(
  .serialized, .enabled(if: Command.canMount, "no /dev/fuse, fusermount3 or built command"),
  .enabled(
    if: Command.isRoot && Command.has("unshare") && Command.has("setpriv")
      && Command.has("chattr"), "only root sets the flag that holds for root"))
struct MountPointTests {
  @Test func theEmptyMountPointIsNoTrap() throws {
    let vault = try Mounted(mounting: false)
    let outcome = try vault.sh(
      "unshare --mount --propagation private sh '\(Command.checks)/mountpoint.sh'",
      in: vault.scratch)
    #expect(outcome.status == 0 && outcome.output.hasSuffix("passed\n"), "\(outcome.output)")
  }
}
