import Testing

/// What is interrupted, refused or out of room leaves what was there.
@Suite(.serialized, .enabled(if: Command.canMount, "no /dev/fuse, fusermount3 or built command"))
struct FileVerbFaultTests {
  @Test(.timeLimit(.minutes(2)), arguments: FileVault.Way.allCases)
  func aKilledPutLeavesTheOldFile(way: FileVault.Way) throws {
    let vault = try FileVault(way)
    try vault.check(
      """
      echo old | c put "$V" - folder/file
      begin folder/file
      head -c 30000000 /dev/zero >&3
      kill -9 $pid
      no wait $pid
      exec 3>&-
      test "$(c cat "$V" folder/file)" = old
      c verify "$V" | grep -q 'no damage'
      echo new | c put "$V" - folder/file
      test "$(c cat "$V" folder/file)" = new
      """)
  }

  /// Its own end, as the signal makes it; nothing but the old file is there.
  @Test(.timeLimit(.minutes(2)), arguments: FileVault.Way.allCases)
  func aSignalLeavesNoRest(way: FileVault.Way) throws {
    let vault = try FileVault(way)
    try vault.check(
      """
      echo old | c put "$V" - folder/file
      for place in folder/file new/folder/file; do
        begin $place
        head -c 30000000 /dev/zero >&3
        kill -TERM $pid
        code=0
        wait $pid || code=$?
        exec 3>&-
        test $code = 143
        test ! -s errors
        test "$(c ls -r "$V" | tr '\\n' ' ')" = 'folder folder/file '
      done
      test "$(c cat "$V" folder/file)" = old
      # Out of the vault as well.
      head -c 30000000 /dev/zero | c put "$V" - big
      mkdir out
      "$COFFRE" get --password-file "$scratch/password" "$V" big out/big & pid=$!
      for i in $(seq 200); do ! ls out/.coffre-* > /dev/null 2>&1 || break; sleep 0.01; done
      kill -TERM $pid
      code=0
      wait $pid || code=$?
      test $code = 143 && test -z "$(ls -A out)" || cmp -n 30000000 out/big /dev/zero
      """)
  }

  /// 300 MB through a pipe: what is held of them at a time has a bound.
  @Test(.timeLimit(.minutes(5)), arguments: FileVault.Way.allCases)
  func memoryHasABound(way: FileVault.Way) throws {
    let vault = try FileVault(way)
    try vault.check(
      """
      begin big
      mkfifo sum
      sha256sum < sum > wanted & sums=$!
      while [ ! -p sum ]; do sleep 0.01; done
      head -c 300000000 /dev/urandom | tee sum >&3
      wait $sums
      peak=$(sed -n 's/^VmHWM:[^0-9]*\\([0-9]*\\) kB$/\\1/p' /proc/$pid/status)
      exec 3>&-
      wait $pid
      echo "peak memory: $peak KiB"
      test "$peak" -lt \(way == .mounted ? 40_000 : 200_000)
      c cat "$V" big | sha256sum | cmp - wanted
      """)
  }

  @Test func whatCannotBeOpenedIsTold() throws {
    let vault = try FileVault(.unmounted)
    try vault.check(
      """
      echo wrong > wrong
      echo 1 > file
      c put "$V" file file
      for words in "ls" "cat file" "rm file" "mkdir x" "mv file x" "get file x"; do
        set -- $words
        verb=$1
        shift
        code=0
        "$COFFRE" $verb --password-file wrong "$V" "$@" 2> errors || code=$?
        test $code = 3
        test ! -e x
        code=0
        "$COFFRE" $verb --password-file wrong "$scratch/none" "$@" 2> errors || code=$?
        test $code = 6
      done
      code=0
      echo 2 | "$COFFRE" put --password-file wrong "$V" - file || code=$?
      test $code = 3
      test "$(c cat "$V" file)" = 1
      code=0
      echo x | "$COFFRE" put --password-fd 0 "$V" - file || code=$?
      test $code = 2
      # Somebody else has it.
      (exec 9< "$V/lock"; flock 9; echo > held; exec sleep 1000) & holder=$!
      while [ ! -e held ]; do sleep 0.01; done
      (fails 11 put "$V" file file && fails 11 ls "$V") || bad=1
      kill $holder
      no wait $holder
      test -z "${bad-}"
      test "$(c cat "$V" file)" = 1
      """)
  }

  @Test func aReadOnlyMountIsOnlyRead() throws {
    let vault = try FileVault(.unmounted)
    try vault.check("echo 1 | c put \"$V\" - file")
    try vault.vault.open(["--read-only"])
    try vault.check(
      """
      test "$(c cat "$V" file)" = 1
      test "$(c ls "$V")" = file
      echo 2 | fails 11 put "$V" - file
      grep -q read-only errors
      fails 11 rm "$V" file
      fails 11 mkdir "$V" d
      fails 11 mv "$V" file x
      """)
  }

  /// After a kill the dead mount still lies there, and its folder below is empty.
  @Test func aDeadMountIsNoWayIn() throws {
    let vault = try FileVault(.mounted)
    try vault.check("echo old | c put \"$V\" - file")
    try vault.vault.kill()
    try vault.check("echo new | c put \"$V\" - file; test \"$(c cat \"$V\" file)\" = new")
    try vault.check("test -z \"$(ls -A \"$scratch/mount\" 2>/dev/null)\"")
  }

  /// The descriptor stays with the vault that is gone, and does not find the empty folder.
  @Test(.timeLimit(.minutes(2))) func aLockEndsAPut() throws {
    let vault = try FileVault(.mounted)
    try vault.check(
      """
      echo old | c put "$V" - folder/file
      begin folder/file
      head -c 5000000 /dev/zero >&3
      fails=0
      "$COFFRE" lock "$V" 2> refused || fails=$?
      test $fails = 25
      "$COFFRE" lock --force "$V"
      (trap '' PIPE; head -c 5000000 /dev/zero >&3 2> /dev/null) || true
      exec 3>&-
      code=0
      wait $pid || code=$?
      test $code = 18 || { echo $code; cat errors; exit 1; }
      test -z "$(ls -A "$scratch/mount")"
      test "$(c cat "$V" folder/file)" = old
      """)
  }

  /// Whatever lies over the mount point is not the vault: nothing is written there in clear.
  @Test(.enabled(if: Command.isRoot, "only root mounts something over a mount"))
  func whatLiesOverTheMountIsNotTakenForIt() throws {
    let vault = try FileVault(.mounted)
    try vault.check(
      """
      mkdir "$scratch/mount/inside"
      echo old | c put "$V" - file
      unshare --mount --propagation private sh -euc '
        password=$scratch/password
        mount -t tmpfs over "$scratch/mount"
        code=0
        echo new | "$COFFRE" put --password-file "$password" "$V" - file 2> errors || code=$?
        test $code = 19
        test -z "$(ls -A "$scratch/mount")"
        umount "$scratch/mount"
        mount -t tmpfs over "$scratch/mount/inside"
        code=0
        echo new | "$COFFRE" put --password-file "$password" "$V" - inside/x 2> errors || code=$?
        test $code = 17
        test -z "$(ls -A "$scratch/mount/inside")"
      '
      test "$(c ls -r "$V" | tr '\\n' ' ')" = 'file inside '
      test "$(c cat "$V" file)" = old
      """)
  }

  @Test(
    .enabled(if: LowerDisk.canMake, "only root can make a small filesystem"),
    arguments: FileVault.Way.allCases)
  func aFullDiskKeepsTheOldFile(way: FileVault.Way) throws {
    let vault = try FileVault(way, on: .tmpfs)
    try vault.check(
      """
      echo old | c put "$V" - file
      head -c 200000000 /dev/zero | fails 14 put "$V" - file
      test "$(wc -l < errors)" -le 2
      grep -q 'no space left' errors
      head -c 200000000 /dev/zero > source
      fails 14 put "$V" source new/file
      test "$(c ls -r "$V")" = file
      test "$(c cat "$V" file)" = old
      head -c 5000000 /dev/urandom > source
      c put "$V" source file
      c cat "$V" file | cmp - source
      mkdir full
      mount -t tmpfs -o size=1m full full
      (fails 14 get "$V" file full/file) || bad=1
      left=$(ls -A full)
      umount full
      test -z "${bad-}"
      test -z "$left"
      """)
  }
}
