import Foundation
import Testing

/// Every system call on the vault's files is interrupted, and every read and write falls short,
/// again and again: no program in the mount sees it, and all that was written is there.
@Suite(
  .enabled(if: Command.canMount, "no /dev/fuse, fusermount3 or built command"),
  .enabled(if: Command.has("cc"), "no C compiler"),
  .enabled(if: Command.has("python3"), "no python3"))
struct UnreliableTests {
  @Test func interruptedAndShortCallsAreTakenUpAgain() throws {
    let vault = try Mounted(mounting: false)
    let outcome = try vault.sh(
      """
      cc -shared -fPIC -o unreliable.so '\(Command.checks)/unreliable.c' -ldl
      truncate -s 144 counts
      unreliable() { UNRELIABLE=$PWD/counts LD_PRELOAD=$PWD/unreliable.so "$COFFRE" "$@"; }

      unreliable init new --password-file password
      unreliable mount new mount --password-file password
      mkdir mount/tree
      for round in 1 2 3 4; do
        cp -a '\(Command.checks)/.' mount/tree/$round
        dd if=/dev/urandom of=mount/large$round bs=512k count=8 conv=fsync status=none
        mv mount/large$round mount/large
        test $round = 1 || rm -r mount/tree/$((round - 1))
        sync mount/tree
      done
      dd if=/dev/urandom of=mount/large bs=4k seek=100 count=50 conv=notrunc status=none
      truncate -s 3M mount/large
      ( cd mount && find . -type f -exec sha256sum {} + ) > sums
      unreliable lock new

      # A copy of the root with more at its end is cut, one that is a link is removed.
      echo more >> new/root.0
      unreliable mount new mount --password-file password
      unreliable lock new
      mv new/root.0 aside && ln -s ../aside new/root.0
      unreliable mount new mount --password-file password
      unreliable lock new
      unreliable verify new --password-file password
      cp password another
      unreliable passwd new --password-file password --new-password-file another

      "$COFFRE" mount new mount --password-file another
      ( cd mount && sha256sum --quiet -c ../sums )
      "$COFFRE" lock new
      /usr/bin/python3 - <<'END'
      import os, struct
      numbers = struct.unpack("18Q", open("counts", "rb").read())
      names = "read write sync allocate resize open remove rename look".split()
      for name, interrupted, short in zip(names, numbers[::2], numbers[1::2]):
        print(name, "interrupted", interrupted, "short", short)
        assert interrupted > 0 and (short > 0 or name not in ("read", "write"))
      END
      """, in: vault.scratch)
    #expect(outcome.status == 0, "\(outcome.output)")
  }
}
