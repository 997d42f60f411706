import Foundation
import POSIX
import Testing

/// What a mount leaves to the next one, after a lock and after kill -9.
@Suite(.serialized, .enabled(if: Command.canMount, "no /dev/fuse, fusermount3 or built command"))
struct RemountTests {
  @Test func inodeNumbersStay() throws {
    let vault = try Mounted()
    try vault.check(
      """
      mkdir -p a/b/c && echo 1 > a/one && echo 2 > a/b/two && ln a/one a/b/c/link
      ln -s one a/soft && mkfifo a/pipe && for i in $(seq 300); do echo $i > a/b/c/$i; done
      rm a/b/c/7 a/b/c/200
      """)
    func numbers() throws -> String {
      let outcome = try vault.sh("find . -printf '%i %y %n %p\\n' | sort -k 4")
      try #require(outcome.status == 0 && outcome.output.contains("./a/b/c/link"))
      return outcome.output
    }
    let before = try numbers()
    try vault.reopen()
    let after = try numbers()
    #expect(before == after)
    try vault.kill()
    try vault.open()
    let afterKill = try numbers()
    #expect(before == afterKill)
    // The host sees no two files as one.
    let lines = before.split(separator: "\n").filter { $0.contains(" 1 ") }
    #expect(Set(lines.compactMap { $0.split(separator: " ").first }).count == lines.count)
  }

  /// With the daemon the kernel's pages go: only what was synced is there, in each way to do it.
  @Test(.enabled(if: Command.has("python3"), "no python3"))
  func whatWasSyncedSurvivesAKill() throws {
    let vault = try Mounted()
    try vault.check(
      """
      /usr/bin/python3 - <<'END'
      import mmap, os
      def make(name, flags=0):
        return os.open(name, os.O_CREAT | os.O_RDWR | flags)
      for name, flags in (("sync", os.O_SYNC), ("dsync", os.O_DSYNC)):
        os.write(make(name, flags), b"x" * 70000)
      fd = make("append", os.O_APPEND | os.O_DSYNC)
      for index in range(10): os.write(fd, b"x" * 7000)
      for name, call in (("fsync", os.fsync), ("fdatasync", os.fdatasync)):
        fd = make(name)
        os.write(fd, b"x" * 70000)
        call(fd)
      fd = make("msync")
      os.ftruncate(fd, 70000)
      memory = mmap.mmap(fd, 70000)
      memory[:] = b"x" * 70000
      memory.flush()
      fd = make("range")
      os.write(fd, b"x" * 70000)
      os.fsync(fd)
      os.mkdir("folder")
      os.rename("range", "folder/range")
      os.fsync(os.open("folder", os.O_RDONLY))
      os.fsync(os.open(".", os.O_RDONLY))
      END
      """)
    try vault.kill()
    try vault.open()
    try vault.check(
      """
      for name in sync dsync append fsync fdatasync msync folder/range; do
        test "$(tr -d x < $name | wc -c)" = 0 && test "$(wc -c < $name)" = 70000 || \
          { echo "$name: $(wc -c < $name)"; exit 1; }
      done
      test ! -e range
      """)
  }

  /// An unlinked file that is open keeps its space; after kill -9 nothing of it is left.
  @Test func orphansLeaveNothingAfterAKill() throws {
    let vault = try Mounted()
    try vault.check("mkdir kept && head -c 3000000 /dev/urandom > kept/file && sync kept/file")
    let used = "$(($(stat -f -c '%b - %f' .)))"
    let files = "$(($(stat -f -c '%c - %d' .)))"
    let outcome = try vault.sh(
      """
      mount='\(vault.mount)'
      cd "$mount"
      before=\(used)
      files=\(files)
      exec 3<> open
      mkdir folder && exec 4< folder && rmdir folder && rm open
      head -c 20000000 /dev/urandom >&3
      sync /dev/fd/3
      grown=$((\(used) - before))
      test $((grown * $(stat -f -c %S .))) -gt 19000000 || { echo "grown by $grown"; exit 1; }
      cd /
      kill -9 \(vault.daemon())
      exec 3>&- 4<&-
      "$COFFRE" mount '\(vault.vault)' "$mount" --password-file '\(vault.password)'
      cd "$mount"
      for i in $(seq 100); do
        left=$((\(used) - before))
        test $((left * $(stat -f -c %S .))) -gt 1000000 || break
        sleep 0.1
      done
      echo "left $left of $grown blocks; inodes $files, then \(files)"
      test $((left * $(stat -f -c %S .))) -le 1000000
      test \(files) = $files
      ls -A
      """, in: "/")
    #expect(outcome.status == 0, "\(outcome.output)")
    #expect(outcome.output.hasSuffix("\nkept\n"), "\(outcome.output)")
  }

  /// Device nodes are stored, and work only where they are asked for.
  @Test(.enabled(if: Command.isRoot, "device nodes are for root"))
  func deviceNodesWorkIfAskedFor() throws {
    let vault = try Mounted()
    try vault.check(
      """
      mknod -m 666 zero c 1 5 && mknod disk b 259 70000
      if head -c 4 zero 2> errors; then exit 1; fi
      grep -q 'Permission denied' errors && rm errors
      """)
    try vault.lock()
    try vault.open(["-o", "dev"])
    try vault.check(
      """
      test "$(stat -c '%F %t:%T' zero)" = 'character special file 1:5'
      test "$(stat -c '%F %Hr:%Lr' disk)" = 'block special file 259:70000'
      test "$(head -c 4 zero | od -An -tx1 | tr -d ' ')" = 00000000
      """)
  }

  /// Attributes of root's namespaces come back as well.
  @Test(.enabled(if: Command.isRoot && Command.has("python3"), "they are for root"))
  func attributesOfRootStay() throws {
    let vault = try Mounted()
    let value = "__import__('struct').pack('<IIIII', 0x02000001, 1 << 10, 0, 0, 0)"
    try vault.check(
      """
      echo x > file
      /usr/bin/python3 -c "import os
      os.setxattr('file', 'security.capability', \(value))
      os.setxattr('file', 'trusted.overlay.opaque', b'y')
      os.setxattr('file', 'security.label', b'l' * 3000)"
      """)
    try vault.reopen()
    try vault.check(
      """
      /usr/bin/python3 -c "import os
      assert os.getxattr('file', 'security.capability') == \(value)
      assert os.getxattr('file', 'trusted.overlay.opaque') == b'y'
      assert os.getxattr('file', 'security.label') == b'l' * 3000"
      """)
  }
}
