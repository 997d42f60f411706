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
}
