import Bytes
import Foundation
import POSIX
import Testing

/// A lock takes the content from everybody, however he came to the mount.
@Suite(.serialized, .enabled(if: Command.canMount, "no /dev/fuse, fusermount3 or built command"))
struct LockTests {
  /// A file open as descriptor 3, its first page read, and a program that reads it all the time.
  /// After the lock neither content nor attributes are to be had, and a write fails at once.
  private static func reader(_ file: String, lock vault: String) -> String {
    """
    exec 3<> \(file)
    test "$(dd bs=4096 count=1 <&3 2>/dev/null | head -c 7)" = content
    echo more >> \(file)
    while cat \(file); do :; done > /dev/null 2>&1 &
    "$COFFRE" lock --force '\(vault)'
    failed=
    if dd bs=4096 count=1 <&3 > /dev/null 2>&1; then failed="$failed read"; fi
    if cat \(file) > /dev/null 2>&1; then failed="$failed open"; fi
    if stat -L /dev/fd/3 > /dev/null 2>&1; then failed="$failed stat"; fi
    if echo more 2>/dev/null >&3; then failed="$failed write"; fi
    test -z "$failed" || { echo "works after the lock:$failed"; exit 1; }
    """
  }

  private func filled() throws -> Mounted {
    let vault = try Mounted()
    try vault.check("{ echo content; seq 20000; } > file && cat file > /dev/null")
    return vault
  }

  /// The file is whole, with what was written to it before the lock.
  private func expectKept(_ vault: Mounted) throws {
    try vault.open()
    try vault.check("test \"$(tail -n 1 file)\" = more && test $(wc -l < file) = 20002")
  }

  @Test func aFileOpenAtTheMountPoint() throws {
    let vault = try filled()
    let outcome = try vault.sh(Self.reader("'\(vault.mount)/file'", lock: vault.vault), in: "/")
    #expect(outcome.status == 0, "\(outcome.output)")
    try expectKept(vault)
  }

  @Test(.enabled(if: Command.isRoot, "a bind mount is for root"))
  func aFileOpenInABindMount() throws {
    let vault = try filled()
    let other = try vault.makeFolder("other")
    let outcome = try vault.sh(
      """
      mount --bind '\(vault.mount)' '\(other)'
      trap "umount -l '\(other)' 2>/dev/null || true" EXIT
      \(Self.reader("'\(other)/file'", lock: vault.vault))
      """, in: "/")
    #expect(outcome.status == 0, "\(outcome.output)")
    #expect(!vault.isMounted(other))
    try expectKept(vault)
  }

  @Test(.enabled(if: Command.isRoot && Command.has("unshare"), "unshare(1) is for root"))
  func aFileOpenInAnotherNamespace() throws {
    let vault = try filled()
    let script = vault.scratch + "/script"
    try Self.reader("'\(vault.mount)/file'", lock: vault.vault)
      .write(toFile: script, atomically: true, encoding: .utf8)
    let outcome = try vault.sh(
      "unshare --mount --propagation private sh -eu '\(script)'", in: "/")
    #expect(outcome.status == 0, "\(outcome.output)")
    try expectKept(vault)
  }

  @Test(.enabled(if: Command.isRoot, "mount --move is for root"))
  func aMountThatWasMoved() throws {
    let vault = try filled()
    let (outer, other) = (vault.scratch + "/outer", vault.scratch + "/outer/other")
    // What is below a shared mount can't be moved, so both places are below a private one.
    let outcome = try vault.sh(
      """
      "$COFFRE" lock '\(vault.vault)'
      mkdir '\(outer)'
      mount -t tmpfs tmpfs '\(outer)'
      trap "umount -l '\(other)' 2>/dev/null || true; umount -l '\(outer)'" EXIT
      mount --make-private '\(outer)'
      mkdir '\(outer)/first' '\(other)'
      "$COFFRE" mount '\(vault.vault)' '\(outer)/first' --password-file '\(vault.password)'
      mount --move '\(outer)/first' '\(other)'
      \(Self.reader("'\(other)/file'", lock: vault.vault))
      if grep -q ' \(other) ' /proc/self/mountinfo; then echo 'still mounted'; exit 1; fi
      """, in: "/")
    #expect(outcome.status == 0, "\(outcome.output)")
    try expectKept(vault)
  }

  /// What lies over the mount point is somebody else's, and stays.
  @Test(.enabled(if: Command.isRoot, "a mount of tmpfs is for root"))
  func aMountUnderAnotherOne() throws {
    let vault = try filled()
    let outcome = try vault.sh(
      """
      exec 4< '\(vault.mount)'
      mount -t tmpfs tmpfs '\(vault.mount)'
      trap "umount -l '\(vault.mount)'; umount -l '\(vault.mount)' 2>/dev/null || true" EXIT
      echo foreign > '\(vault.mount)/foreign'
      \(Self.reader("/dev/fd/4/file", lock: vault.vault))
      cat '\(vault.mount)/foreign'
      """, in: "/")
    #expect(outcome.status == 0 && outcome.output.hasSuffix("foreign\n"), "\(outcome.output)")
    try expectKept(vault)
  }

  /// Whatever the moment, `passwd` fails only if the old password still holds.
  @Test(arguments: [0.05, 0.2, 0.35, 0.5, 0.8])
  func aChangeOfThePasswordEndsFirst(delay: Double) throws {
    let vault = try Mounted()
    try vault.check("echo 'another password' > '\(vault.scratch)/new'")
    let outcome = try vault.sh(
      """
      { "$COFFRE" passwd '\(vault.vault)' --password-file password --new-password-file new || \
        echo unchanged; } > outcome 2>&1 &
      sleep \(delay)
      "$COFFRE" lock '\(vault.vault)'
      wait
      cat outcome
      """, in: vault.scratch)
    #expect(outcome.status == 0, "\(outcome.output)")
    let isUnchanged = outcome.output.contains("unchanged")
    if !isUnchanged { try vault.check("mv '\(vault.scratch)/new' '\(vault.password)'") }
    #expect(!outcome.output.contains("descriptor"), "\(outcome.output)")
    try vault.open()
  }

  /// Whoever connects and says nothing does not hold the process back.
  @Test func anIdleConnectionIsNotWaitedFor() throws {
    let vault = try Mounted()
    let idle = try System.connect(to: vault.socket(), patience: 1000)
    try System.send(idle, Buffer(Array("sta".utf8)).bytes)
    let start = ContinuousClock.now
    try vault.lock()
    #expect(ContinuousClock.now - start < .seconds(3))
    withExtendedLifetime(idle) {}
  }

  /// A mount that is not found is still a mount.
  @Test func aMountOfAnotherSessionIsTold() throws {
    let vault = try Mounted()
    let session = try vault.makeFolder("session")
    for path in [vault.mount, vault.vault] {
      let outcome = try vault.sh(
        "XDG_RUNTIME_DIR='\(session)' \"$COFFRE\" lock '\(path)'", in: "/")
      #expect(outcome.status == 19, "\(outcome.output)")
      #expect(outcome.output.contains("session"), "\(outcome.output)")
    }
    #expect(vault.isMounted(vault.mount))
    try vault.lock()
    #expect(try vault.coffre(["lock", vault.vault]).status == 18)
  }

  @Test(.enabled(if: Command.isRoot, "a bind mount is for root"))
  func aVaultIsFoundByAnotherPath() throws {
    let vault = try Mounted()
    let alias = try vault.makeFolder("alias")
    let outcome = try vault.sh(
      """
      mount --bind '\(vault.vault)' '\(alias)'
      trap "umount '\(alias)'" EXIT
      cp -a '\(vault.vault)' copy
      # A copy is another vault, though it has the same id.
      if "$COFFRE" lock copy 2>/dev/null; then exit 1; fi
      mountpoint -q mount
      "$COFFRE" lock '\(alias)'
      ! mountpoint -q mount
      """, in: vault.scratch)
    #expect(outcome.status == 0, "\(outcome.output)")
  }
}
