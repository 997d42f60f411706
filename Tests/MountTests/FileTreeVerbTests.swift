import Testing

/// Whole trees in and out of a vault, and what goes wrong with them.
@Suite(.serialized, .enabled(if: Command.canMount, "no /dev/fuse, fusermount3 or built command"))
struct FileTreeVerbTests {
  @Test(.enabled(if: Command.has("rsync")), arguments: FileVault.Way.allCases)
  func aTreeGoesInAndOut(way: FileVault.Way) throws {
    let vault = try FileVault(way)
    try vault.check(
      """
      mkdir -p tree/sub/deep tree/closed tree/empty
      for i in $(seq 40); do head -c $((i * 1000)) /dev/urandom > tree/sub/deep/$i; done
      ln -s sub/deep tree/link
      ln -s nowhere tree/dangling
      echo x > tree/closed/file
      setfattr -n user.k -v value tree/sub
      chmod 400 tree/closed/file
      chmod 550 tree/closed
      truncate -s 50M tree/sparse
      touch -d '2001-02-03' tree/sub
      c put -r "$V" tree Archive/copy
      c get -r "$V" Archive/copy back
      test -z "$(rsync -aAX --checksum --dry-run -i --delete tree/ back/)"
      test "$(stat -c %b back/sparse)" -lt 1000
      # A second time it goes inside, and then onto what is there.
      c put -r "$V" tree Archive
      c put -r "$V" tree Archive
      test "$(c ls "$V" Archive | tr '\\n' ' ')" = 'copy tree '
      test "$(c ls -r "$V" Archive/tree | wc -l)" = "$(find tree -mindepth 1 | wc -l)"
      chmod -R u+w tree back
      """)
  }

  @Test(arguments: FileVault.Way.allCases)
  func whatIsThereIsNotOverwritten(way: FileVault.Way) throws {
    let vault = try FileVault(way)
    try vault.check(
      """
      mkdir tree
      echo new > tree/file
      echo other > tree/other
      c put -r "$V" tree tree
      c put "$V" tree/file file
      echo mine > file
      fails 26 get "$V" file
      fails 26 get "$V" file .
      fails 26 get "$V" file file
      grep -q force errors
      test "$(cat file)" = mine
      c get --force "$V" file
      test "$(cat file)" = new
      test "$(stat -c %a file)" = 644
      ln -s nowhere link
      fails 26 get "$V" file link
      test ! -e nowhere
      mkdir there
      c get "$V" file there
      test "$(cat there/file)" = new
      echo mine > tree/file
      rm tree/other
      fails 26 get -r "$V" tree
      test "$(cat tree/file)" = mine
      c get -r --force "$V" tree
      test "$(cat tree/file)$(cat tree/other)" = newother
      fails 17 get "$V" tree x
      fails 17 get "$V" file no/such
      fails 2 get -r "$V" tree -
      fails 24 get "$V" missing
      c get -r "$V" file again
      cmp again file
      fails 2 get -r "$V" /
      c get -r "$V" / all
      test "$(cat all/tree/file)" = new
      test -z "$(find . -name '.coffre-*')"
      """)
  }

  /// Told, left out, and the exit code says it.
  @Test(arguments: FileVault.Way.allCases) func whatHasNoContentIsTold(way: FileVault.Way) throws {
    let vault = try FileVault(way)
    try vault.check(
      """
      mkdir -p tree/sub
      mkfifo tree/sub/pipe
      echo 1 > tree/file
      fails 27 put -r "$V" tree tree
      grep -q 'tree/sub/pipe is left out: it is a fifo' errors
      test "$(c ls -r "$V" tree | tr '\\n' ' ')" = 'file sub '
      # The vault in what is copied is not copied into itself.
      fails 27 put -r "$V" "$scratch" whole
      grep -q 'would go into itself' errors
      test "$(c cat "$V" whole/here/tree/file)" = 1
      fails 24 ls "$V" whole/vault
      """)
  }

  @Test(.timeLimit(.minutes(2)), arguments: FileVault.Way.allCases)
  func aReaderThatGoesIsNoError(way: FileVault.Way) throws {
    let vault = try FileVault(way)
    try vault.check(
      """
      head -c 5000000 /dev/zero | c put "$V" - big
      for i in $(seq 800); do : > "$(printf '%0150d' $i)"; done
      mkdir many
      mv 0* many
      c put -r "$V" many ''
      for verb in "cat big" "get big -" "ls many" "ls -r --json" ; do
        set -- $verb
        name=$1
        shift
        {
          code=0
          c $name "$V" "$@" 2> errors || code=$?
          echo $code > code
        } | head -c 1 > /dev/null
        test "$(cat code)" = 141
        test ! -s errors
      done
      """)
  }

  @Test(.enabled(if: Command.has("python3")), arguments: FileVault.Way.allCases)
  func aTerminalGetsNoCommands(way: FileVault.Way) throws {
    let vault = try FileVault(way)
    try vault.check(
      """
      echo 1 | c put "$V" - "$(printf 'red\\033[31m\\nname')"
      cat > terminal.py <<'END'
      import os, pty, sys
      sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))
      END
      for option in '' -l --json; do
        python3 terminal.py "$COFFRE" ls $option --password-file "$scratch/password" "$V" > seen
        grep -q 'red.*x1b.*31m.*x0aname' seen
        no grep -q "$(printf '\\033')" seen
      done
      head -c 20000000 /dev/zero > big
      python3 terminal.py "$COFFRE" put --password-file "$scratch/password" "$V" big big > seen
      grep -q '\\[#*\\.*\\] .* % .* MiB/s .* left' seen
      """)
  }
}
