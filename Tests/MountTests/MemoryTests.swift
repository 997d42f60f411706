import Bytes
import Crypto
import POSIX
import TestKit
import Testing

@testable import Vault

/// What is in the memory of the process that serves a vault, seen from outside.
@Suite(
  .serialized, .enabled(if: Command.canMount, "no /dev/fuse, fusermount3 or built command"),
  .enabled(
    if: Command.isRoot && Command.has("strace") && Command.has("python3")
      && Command.has("setfattr"), "only root looks into it, and holds it at its end by strace"))
struct MemoryTests {
  /// No key, password, content, name or attribute is left when the process ends.
  @Test(.timeLimit(.minutes(2))) func nothingIsLeftAtTheEnd() throws {
    let vault = try Mounted(mounting: false)
    let password = SecretBytes(copying: Buffer(Array("a long enough password".utf8)).bytes)
    let unlocked = try Vault(path: vault.vault).configuration.unlock(password)
    let key = array(unlocked.master.bytes).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }
    let outcome = try vault.sh(
      "sh '\(Command.checks)/memory.sh' '\(Command.checks)' \(key.joined())", in: vault.scratch)
    #expect(outcome.status == 0 && outcome.output.hasSuffix("passed\n"), "\(outcome.output)")
  }
}
