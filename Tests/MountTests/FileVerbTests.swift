import Testing

/// `ls`, `cat`, `get`, `put`, `mkdir`, `mv`, `rm`: of a vault that is mounted and of one that is
/// not.
@Suite(.serialized, .enabled(if: Command.canMount, "no /dev/fuse, fusermount3 or built command"))
struct FileVerbTests {
  @Test(arguments: FileVault.Way.allCases) func aFileGoesInAndOut(way: FileVault.Way) throws {
    let vault = try FileVault(way)
    try vault.check(
      """
      head -c 3000001 /dev/urandom > source
      chmod 640 source
      touch -d '1999-12-31 23:59:59.123456789' source
      setfattr -n user.note -v text source
      c put "$V" source a/b/file
      c get "$V" a/b/file back
      cmp source back
      c cat "$V" /a/b/file | cmp - source
      test "$(stat -c '%a %y' source)" = "$(stat -c '%a %y' back)"
      test "$(getfattr -n user.note --only-values back)" = text
      test "$(c ls "$V")" = a
      test "$(c ls "$V" a/b)" = file
      c ls -l "$V" a/b/file | grep -q '^-rw-r----- .* 3000001 1999-12-31 .* a/b/file$'
      c ls --json "$V" a | grep -q '"path": "b", "type": "directory", .*"mode": "0700"'
      c get "$V" a/b/file - | cmp - source
      """)
  }

  @Test(arguments: FileVault.Way.allCases) func namesChange(way: FileVault.Way) throws {
    let vault = try FileVault(way)
    try vault.check(
      """
      echo one > one
      echo two > two
      c mkdir "$V" d
      fails 26 mkdir "$V" d
      c mkdir -p "$V" d/e/f
      c mkdir -p "$V" d/e/f
      fails 24 mkdir "$V" no/such
      c put "$V" one one
      c mv "$V" one d/renamed
      test "$(c cat "$V" d/renamed)" = one
      c put "$V" two two
      c mv "$V" two d/renamed
      test "$(c cat "$V" d/renamed)" = two
      c mv "$V" d/renamed d/e
      test "$(c ls -r "$V" | tr '\\n' ' ')" = 'd d/e d/e/f d/e/renamed '
      fails 24 mv "$V" gone elsewhere
      fails 17 mv "$V" d d/e
      fails 17 mv "$V" / d
      fails 17 rm "$V" d
      fails 24 rm "$V" gone
      fails 17 rm -r "$V" /
      fails 24 rm "$V" d/x/y
      c rm "$V" d/e/renamed
      c rm -r "$V" d
      test -z "$(c ls "$V")"
      """)
  }

  @Test(arguments: FileVault.Way.allCases) func whatIsPutFindsItsPlace(way: FileVault.Way) throws {
    let vault = try FileVault(way)
    try vault.check(
      """
      echo old > file
      echo new > other
      c put "$V" file folder/
      test "$(c cat "$V" folder/file)" = old
      c put "$V" other folder
      test "$(c cat "$V" folder/other)" = new
      c put "$V" other folder/file
      test "$(c cat "$V" folder/file)" = new
      fails 26 put "$V" - folder
      fails 26 put "$V" - folder/
      fails 26 put "$V" - /
      c mkdir "$V" folder/x/
      c mkdir "$V" folder/x/other
      fails 26 put "$V" other folder/x
      fails 24 put "$V" other folder/file/below
      test "$(c ls -r "$V" | tr '\\n' ' ')" = \
        'folder folder/file folder/other folder/x folder/x/other '
      # What could not be read is not there, nor are the folders on the way.
      fails 17 put "$V" missing new/place
      grep -q 'missing: no such file' errors
      fails 17 put "$V" . new/place
      test -z "$(c ls "$V" | grep new)"
      """)
  }

  @Test(arguments: FileVault.Way.allCases) func aPipeGoesStraightIn(way: FileVault.Way) throws {
    let vault = try FileVault(way)
    try vault.check(
      """
      printf 'a planted,secret line\\n' | c put "$V" - 'Planted Name/of the export.csv'
      test "$(c cat "$V" 'Planted Name/of the export.csv')" = 'a planted,secret line'
      c ls -l "$V" 'Planted Name' | grep -q '^-rw------- '
      : | c put "$V" - empty
      test -z "$(c cat "$V" empty)"
      c put "$V" - null < /dev/null
      c ls -l "$V" null | grep -q ' 0 '
      """)
    if way == .mounted { try vault.vault.lock() }
    try vault.check(
      """
      no grep -ra -e 'planted' -e 'Planted Name' -e 'the export' "$V" "$scratch/state" \
        "$scratch/mount"
      test -z "$(find "$scratch" -name '*xport*')"
      """)
  }

  @Test(arguments: FileVault.Way.allCases) func oddNamesStayAsTheyAre(way: FileVault.Way) throws {
    let vault = try FileVault(way)
    try vault.check(
      """
      bad=$(printf 'bad\\377\\033[31m') line=$(printf 'two\\nlines')
      echo 1 > "$bad"
      echo 2 > "$line"
      echo 3 > -n
      c put "$V" "$bad" "$bad"
      c put "$V" "$line" "$line"
      c put -- "$V" -n -n
      test "$(c cat "$V" "$bad")" = 1
      test "$(c cat "$V" "$line")" = 2
      test "$(c cat -- "$V" -n)" = 3
      printf '%s\\n' -n "$bad" "$line" > wanted
      c ls "$V" | cmp - wanted
      c ls --json "$V" | grep -q 'bad.*xff.*x1b'
      c mv "$V" "$bad" "$line"
      c rm -- "$V" -n
      rm "$line"
      c get "$V" "$line"
      test "$(cat "$line")" = 1
      """)
  }

  @Test(arguments: FileVault.Way.allCases) func linksNeverLeadOutside(way: FileVault.Way) throws {
    let vault = try FileVault(way)
    try vault.check(
      """
      mkdir tree
      ln -s /etc/passwd tree/absolute
      ln -s ../../../../../etc/passwd tree/far
      ln -s loop tree/loop
      ln -s "$scratch" tree/folder
      echo kept > tree/file
      c put -r "$V" tree ''
      for name in absolute far; do
        fails 24 cat "$V" tree/$name
        test ! -s out
        fails 24 get "$V" tree/$name here
      done
      fails 17 cat "$V" tree/loop
      fails 24 ls "$V" tree/folder/
      fails 24 rm "$V" tree/folder/x
      echo inside | c put "$V" - etc/passwd
      test "$(c cat "$V" tree/absolute)$(c cat "$V" tree/far)" = insideinside
      echo changed | c put "$V" - tree/absolute
      test "$(c cat "$V" etc/passwd)" = changed
      c ls -l "$V" tree | grep -q 'absolute -> /etc/passwd'
      c rm -r "$V" tree
      test -e "$scratch/here/tree/file"
      grep -q root /etc/passwd
      c cat "$V" etc/passwd > /dev/null
      """)
  }
}
