import Foundation
import Testing

/// A vault on a filesystem that is full: what is refused, and that everything else goes on.
@Suite(
  .serialized, .enabled(if: Command.canMount, "no /dev/fuse, fusermount3 or built command"),
  .enabled(if: LowerDisk.canMake, "only root can make a small filesystem"))
struct FullDiskMountTests {
  @Test(arguments: [LowerDisk.tmpfs, .ext4]) func goesOn(lower: LowerDisk) throws {
    let vault = try Mounted(on: lower)
    try vault.check(
      """
      mkdir kept && head -c 3000000 /dev/urandom > kept/a && cp kept/a kept/b && sync
      cksum kept/* > '\(vault.scratch)/sums'
      """)
    // The error reaches the caller.
    let filling = try vault.sh("dd if=/dev/zero of=big bs=128k conv=fsync 2>&1")
    #expect(filling.status != 0 && filling.output.contains("No space left"), "\(filling.output)")
    try vault.check(
      """
      cksum kept/* | cmp - '\(vault.scratch)/sums'
      mkdir new && mv kept new/kept && mv new/kept kept && rmdir new
      for round in 1 2 3; do
        dd if=/dev/urandom of=kept/b bs=100k count=29 conv=notrunc,fsync status=none
      done
      cp kept/b '\(vault.scratch)/b'
      """)
    try vault.reopen()
    try vault.check("cksum kept/a && cmp kept/b '\(vault.scratch)/b'")
    // Killed while full.
    try vault.kill()
    try vault.open()
    try vault.check(
      """
      cmp kept/b '\(vault.scratch)/b'
      before=$(df --output=avail -k . | tail -1)
      rm big && sleep 1
      after=$(df --output=avail -k . | tail -1)
      echo "free: $before KiB, then $after KiB" && test $after -gt $((before + 20000))
      head -c 20000000 /dev/zero > again && sync && test "$(stat -c %s again)" = 20000000
      """)
    try vault.lock()
  }

  /// Not even a segment is left to begin with: what was synced can be read all the same.
  @Test(arguments: [LowerDisk.tmpfs, .ext4]) func isReadOnlyWithoutRoomToRecover(
    lower: LowerDisk
  ) throws {
    let vault = try Mounted(on: lower)
    try vault.check("echo kept > a && sync a")
    try vault.kill()
    let full = try vault.sh(
      """
      cd lower/vault/journal
      ls -t | tail -n +2 | xargs rm
      cd ../..
      dd if=/dev/zero of=fill bs=64k status=none 2>/dev/null || cat /dev/zero >> fill 2>/dev/null ||
        test "$(df --output=avail -k . | tail -1)" -lt 8
      """, in: vault.scratch)
    try #require(full.status == 0, "\(full.output)")
    let arguments = ["mount", vault.vault, vault.mount, "--password-file", vault.password]
    let change = try vault.coffre(
      ["passwd", vault.vault, "--password-file", vault.password]
        + ["--new-password-file", vault.password])
    #expect(change.status == 14, "\(change.output)")
    let outcome = try vault.coffre(arguments)
    #expect(outcome.status == 0 && outcome.output.contains("no space left"), "\(outcome.output)")
    try vault.check("test \"$(cat a)\" = kept && ! touch new 2>/dev/null")
    let status = try vault.coffre(["status"]).output
    #expect(status.contains(", read-only") && status.contains("no space left"), "\(status)")
    try vault.lock()
    try vault.sh("rm fill", in: vault.scratch + "/lower")
    let again = try vault.coffre(arguments)
    #expect(again.status == 0 && !again.output.contains("no space left"), "\(again.output)")
    try vault.check("test \"$(cat a)\" = kept && echo new > b && sync b")
    try vault.lock()
  }
}
