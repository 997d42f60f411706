import Foundation
import Testing

/// The process that serves a vault has given up what it does not need, and locks all the same.
@Suite(.serialized, .enabled(if: Command.canMount, "no /dev/fuse, fusermount3 or built command"))
struct ConfinementMountTests {
  /// Every thread, as the kernel tells of it; so does the root of a mount in the foreground.
  @Test func eachThreadIsConfined() throws {
    let vault = try Mounted(mounting: false)
    let outcome = try vault.sh(
      """
      confined() {
        for task in /proc/$1/task/*; do
          grep -q '^NoNewPrivs:\t1$' $task/status || { echo "no $task"; exit 1; }
          grep -q '^Seccomp:\t2$' $task/status || { echo "no filter $task"; exit 1; }
        done
      }
      "$COFFRE" mount vault mount --password-file password
      daemon=$("$COFFRE" status --json | sed -n 's/.*"process": \\([0-9]*\\).*/\\1/p')
      watcher=$(sed -n 's/^PPid:\t//p' /proc/$daemon/status)
      confined $daemon
      seq 10000 > mount/file
      # It needs the other one to mount and unmount, which has no keys.
      grep -q '^Seccomp:\t0$' /proc/$watcher/status
      "$COFFRE" lock vault
      if mountpoint -q mount; then echo mounted; exit 1; fi

      "$COFFRE" mount vault mount --password-file password --foreground 2> told &
      while ! mountpoint -q mount || ! grep -q mounted told; do sleep 0.05; done
      confined $!
      test "$(tail -n 1 mount/file)" = 10000
      kill -9 $!
      # Its keeper clears the mount away.
      while mountpoint -q mount; do sleep 0.05; done
      "$COFFRE" mount vault mount --password-file password --foreground 2> told &
      while ! mountpoint -q mount || ! grep -q mounted told; do sleep 0.05; done
      kill $!
      wait $!
      if mountpoint -q mount; then echo mounted; exit 1; fi
      """, in: vault.scratch)
    #expect(outcome.status == 0, "\(outcome.output)")
  }

  /// Whoever unmounts was killed: the keys go all the same, and the command does the rest.
  @Test func aLockWithoutTheKeeperLosesNothing() throws {
    let vault = try Mounted()
    let daemon = try vault.daemon()
    let outcome = try vault.sh(
      """
      kill -9 $(sed -n 's/^PPid:\t//p' /proc/\(daemon)/status)
      seq 20000 > mount/file
      "$COFFRE" lock vault
      if mountpoint -q mount; then echo mounted; exit 1; fi
      # It may still be waiting for whoever inherited it.
      if grep '^State:\t[^Z]' /proc/\(daemon)/status; then echo 'it is there'; exit 1; fi
      "$COFFRE" mount vault mount --password-file password
      test "$(tail -n 1 mount/file)" = 20000
      """, in: vault.scratch)
    #expect(outcome.status == 0, "\(outcome.output)")
  }

  /// Whoever unmounts was stopped, or waits for a folder that hangs: it is not waited for, nothing
  /// is lost, and what it was asked for is not done to another mount when it goes on. On a quiet
  /// machine that one has the number of the first, as the kernel gives the lowest that is free.
  @Test(.timeLimit(.minutes(2)))
  func aKeeperThatIsStoppedHoldsNothingUp() throws {
    let vault = try Mounted()
    let daemon = try vault.daemon()
    let outcome = try vault.sh(
      """
      keeper=$(sed -n 's/^PPid:\t//p' /proc/\(daemon)/status)
      kill -STOP $keeper
      trap 'kill -CONT $keeper 2>/dev/null || true' EXIT
      seq 200000 > mount/file
      stat -c %d mount
      sleep 60 < mount/file &
      holder=$!
      start=$(date +%s)
      "$COFFRE" lock --force vault
      echo "locked after $(($(date +%s) - start)) s"
      test $(($(date +%s) - start)) -lt 15
      kill $holder
      if mountpoint -q mount; then echo mounted; exit 1; fi
      "$COFFRE" mount vault mount --password-file password
      stat -c %d mount
      kill -CONT $keeper
      for i in $(seq 100); do test -e /proc/$keeper || break; sleep 0.1; done
      if test -e /proc/$keeper; then echo 'it is there'; exit 1; fi
      mountpoint -q mount
      test "$(tail -n 1 mount/file)" = 200000
      """, in: vault.scratch)
    #expect(outcome.status == 0, "\(outcome.output)")
    print("stopped keeper: \(outcome.output.split(separator: "\n").joined(separator: ", "))")
  }

  /// From `mount` to `lock`, all processes: no socket of a network, and the calls that confine.
  @Test(.enabled(if: Command.has("strace"), "no strace"))
  func noNetworkIsEverAskedFor() throws {
    let vault = try Mounted(mounting: false)
    let outcome = try vault.sh(
      """
      strace -f -q -o trace -e trace=network,seccomp,landlock_restrict_self \
        "$COFFRE" mount vault mount --password-file password &
      # It follows the mount's processes to their end.
      while ! mountpoint -q mount; do sleep 0.1; done
      seq 1000 > mount/file
      "$COFFRE" status > /dev/null
      "$COFFRE" lock vault
      wait $!
      grep -E 'AF_(INET|INET6|NETLINK|PACKET|VSOCK|BLUETOOTH)' trace && exit 1
      grep -oE 'socket(pair)?\\(AF_[A-Z]+' trace | sort | uniq -c
      grep -q 'seccomp(SECCOMP_SET_MODE_FILTER.* = 0$' trace
      grep -q 'accept4(.* = [0-9]' trace
      """, in: vault.scratch)
    #expect(outcome.status == 0, "\(outcome.output)")
    #expect(outcome.output.contains("AF_UNIX"), "the trace has seen something")
  }

  /// A kernel that lacks one of the two: whoever mounts hears of it, and the vault is served.
  @Test(
    .enabled(if: Command.has("strace"), "no strace"),
    arguments: [
      ("landlock_create_ruleset", "this kernel confines none"),
      ("seccomp", "this kernel filters no calls"),
    ])
  func whatTheKernelLacksIsToldOf(call: String, sentence: String) throws {
    let vault = try Mounted(mounting: false)
    let outcome = try vault.sh(
      """
      strace -f -q -o trace -e trace=\(call) -e inject=\(call):error=ENOSYS \\
        "$COFFRE" mount vault mount --password-file password 2> told &
      for i in $(seq 300); do mountpoint -q mount && test -s told && break; sleep 0.1; done
      echo kept > mount/file
      "$COFFRE" lock vault
      wait $!
      cat told
      """, in: vault.scratch)
    #expect(outcome.status == 0 && outcome.output.contains("warning: "), "\(outcome.output)")
    #expect(outcome.output.contains(sentence), "\(outcome.output)")
  }

  /// Nothing but these, none of which speaks to a network.
  @Test(.enabled(if: Command.has("readelf"), "no readelf"))
  func noNetworkLibraryIsLinked() throws {
    let vault = try Mounted(mounting: false)
    let outcome = try vault.sh("readelf -d \"$COFFRE\" | grep NEEDED", in: vault.scratch)
    let names = outcome.output.matches(of: /\[(.*?)\.so/).map { String($0.1) }
    let known: Set = [
      "libfuse3", "libcrypto", "libargon2", "libc", "libm", "libstdc++", "libgcc_s",
      "ld-linux-x86-64", "ld-linux-aarch64", "libpthread", "libdl", "librt", "libutil",
    ]
    #expect(names.contains("libcrypto") && Set(names).isSubset(of: known), "\(names)")
  }
}
