import Foundation
import Testing

/// A mount works when the command returns, or it is not there.
@Suite(.serialized, .enabled(if: Command.canMount, "no /dev/fuse, fusermount3 or built command"))
struct StartTests {
  @Test func theLargestReadCanBeChosen() throws {
    let vault = try Mounted(mounting: false)
    try vault.open(["-o", "max_read=65536"])
    try vault.check(
      """
      seq 100000 > file && sync -f . && echo 3 > /proc/sys/vm/drop_caches 2>/dev/null || true
      test "$(tail -n 1 file)" = 100000
      grep ' \(vault.mount) ' /proc/self/mountinfo | grep -q max_read=65536
      """)
  }

  /// libfuse answers INIT with an error, since it reads a version in it that it does not know.
  @Test(.enabled(if: Command.has("cc"), "no C compiler"))
  func aMountThatCannotStartIsAFailure() throws {
    let vault = try Mounted(mounting: false)
    let shim = vault.scratch + "/shim"
    try """
    #define _GNU_SOURCE
    #include <dlfcn.h>
    #include <linux/fuse.h>
    #include <unistd.h>
    ssize_t read(int file, void *buffer, size_t size) {
      ssize_t (*next)(int, void *, size_t) = dlsym(RTLD_NEXT, "read");
      ssize_t count = next(file, buffer, size);
      struct fuse_in_header *header = buffer;
      if (count >= 56 && header->len == count && header->opcode == FUSE_INIT)
        ((struct fuse_init_in *)(header + 1))->major = 6;
      return count;
    }
    """.write(toFile: shim + ".c", atomically: true, encoding: .utf8)
    try vault.check("cc -shared -fPIC -o '\(shim)' '\(shim).c' -ldl")
    for kind in ["", "--foreground"] {
      let outcome = try vault.sh(
        """
        LD_PRELOAD='\(shim)' timeout 60 "$COFFRE" mount \(kind) '\(vault.vault)' '\(vault.mount)' \
          --password-file '\(vault.password)'
        """, in: "/")
      #expect(outcome.status == 12, "\(outcome.output)")
      let errors = outcome.output.split(separator: "\n").filter { $0.contains("error:") }
      #expect(errors.count == 1, "\(outcome.output)")
      #expect(!vault.isMounted(vault.mount))
      // The supervisor has the mount point on its command line.
      let left = try vault.sh(
        """
        for process in /proc/[0-9]*; do
          test "$(readlink $process/exe)" = "$(readlink -f "$COFFRE")" || continue
          ! grep -qazF '\(vault.mount)' $process/cmdline || echo $process
        done
        """, in: "/")
      #expect(left.output == "", "\(left.output)")
    }
    try vault.open()
    try vault.check("echo fine > file")
  }

  /// An unmount is over before the process that served the mount has written everything; here it
  /// is held up for two seconds.
  @Test(.enabled(if: Command.isRoot, "umount(8) is for root"))
  func aMountRightAfterAnUnmountWaits() throws {
    let vault = try Mounted()
    try vault.check("echo kept > file")
    let daemon = try vault.daemon()
    let outcome = try vault.sh(
      """
      sync -f '\(vault.mount)'
      kill -STOP \(daemon)
      trap 'kill -CONT \(daemon)' EXIT
      umount -c '\(vault.mount)'
      { sleep 2; kill -CONT \(daemon); } &
      "$COFFRE" mount '\(vault.vault)' '\(vault.mount)' --password-file '\(vault.password)'
      trap - EXIT
      """, in: "/")
    #expect(outcome.status == 0, "\(outcome.output)")
    try vault.check("test \"$(cat file)\" = kept")
  }

  /// A vault that stays mounted is not waited for.
  @Test func aMountedVaultIsRefusedAtOnce() throws {
    let vault = try Mounted()
    let start = ContinuousClock.now
    let outcome = try vault.coffre(
      ["mount", vault.vault, vault.makeFolder("other"), "--password-file", vault.password])
    #expect(outcome.status == 11, "\(outcome.output)")
    #expect(ContinuousClock.now - start < .seconds(3))
  }

  @Test func remountingIsRefused() throws {
    let vault = try Mounted()
    let helper = Command.root + "/mount-scripts/mount.fuse.coffre"
    let outcome = try vault.sh("sh '\(helper)' coffre '\(vault.mount)' -o remount,rw", in: "/")
    #expect(outcome.status == 2 && outcome.output.contains("remounted"), "\(outcome.output)")
  }

  /// Two spellings of one letter are two folders.
  @Test func mountPointsAreComparedByTheirBytes() throws {
    let vault = try Mounted(mounting: false)
    let composed = try vault.makeFolder("n\u{e9}")
    let outcome = try vault.sh(
      """
      composed=$(printf 'n\\303\\251')
      decomposed=$(printf 'ne\\314\\201')
      mkdir -p "$composed" "$decomposed"
      "$COFFRE" mount --read-only vault "$composed" --password-file password
      if "$COFFRE" lock "$decomposed" 2>/dev/null; then echo locked; exit 1; fi
      "$COFFRE" mount --read-only vault "$decomposed" --password-file password
      "$COFFRE" lock "$decomposed"
      mountpoint -q "$composed"
      "$COFFRE" lock "$composed"
      """, in: vault.scratch)
    #expect(outcome.status == 0, "\(outcome.output)")
    #expect(!vault.isMounted(composed))
  }

  @Test(.enabled(if: Command.isRoot, "a bind mount is for root"))
  func aMediumThatIsReadOnlyNeedsNoLock() throws {
    let vault = try Mounted()
    try vault.check("echo kept > file")
    try vault.lock()
    let medium = try vault.makeFolder("medium")
    let outcome = try vault.sh(
      """
      rm vault/lock
      mount --bind vault '\(medium)'
      trap '"$COFFRE" lock mount 2>/dev/null || true; umount -l medium' EXIT
      mount -o remount,bind,ro medium
      if "$COFFRE" mount medium mount --password-file password 2> errors; then exit 1; fi
      grep -q 'hint: .*--read-only' errors || { cat errors; exit 1; }
      "$COFFRE" mount --read-only medium mount --password-file password
      test "$(cat mount/file)" = kept
      "$COFFRE" lock mount
      """, in: vault.scratch)
    #expect(outcome.status == 0, "\(outcome.output)")
  }

  /// One of two gets the mount point; the other one is told, and hides nothing.
  @Test func oneOfTwoGetsTheMountPoint() throws {
    let (one, other) = (try Mounted(mounting: false), try Mounted(mounting: false))
    for round in 1...5 {
      let outcome = try one.sh(
        """
        mount() {
          status=0
          "$COFFRE" mount "$1" '\(one.mount)' --password-file '\(one.password)' || status=$?
          echo $status > $2
        }
        mount '\(one.vault)' first & mount '\(other.vault)' second & wait
        cat first second
        grep -c ' \(one.mount) ' /proc/self/mountinfo
        "$COFFRE" lock '\(one.mount)'
        """, in: one.scratch)
      let numbers = outcome.output.split(separator: "\n").compactMap { Int($0) }
      #expect(numbers == [0, 11, 1] || numbers == [11, 0, 1], "round \(round): \(outcome.output)")
    }
  }
}
