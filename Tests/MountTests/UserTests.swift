import Foundation
import POSIX
import Testing

/// A vault of a user who is not root: fusermount3 mounts and unmounts for him.
///
/// Where the tests are not run by root, all of them show it; as root this one does.
@Suite(
  .serialized, .enabled(if: Command.canMount, "no /dev/fuse, fusermount3 or built command"),
  .enabled(
    if: Command.isRoot && Command.has("unshare") && Command.has("setpriv"),
    "only root becomes another user"))
struct UserTests {
  /// Mount, strangers, a lock while in use, kill -9, and --allow-other.
  @Test func aVaultOfAnOrdinaryUser() throws {
    let vault = try Mounted(mounting: false)
    let outcome = try vault.sh(
      "unshare --mount --propagation private sh '\(Command.checks)/user.sh' .", in: vault.scratch)
    #expect(outcome.status == 0 && outcome.output.contains("\npassed\n"), "\(outcome.output)")
  }
}
