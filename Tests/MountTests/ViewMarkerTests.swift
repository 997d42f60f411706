import Testing

/// What keeps backup programs out of a mount is there for them, and in nobody else's way.
@Suite(.serialized, .enabled(if: Command.canMount, "no /dev/fuse, fusermount3 or built command"))
struct ViewMarkerTests {
  /// What a program of its own kind sees: the tags, and the attribute where setfattr is there.
  private static let isMarked =
    """
    test "$(head -c 43 CACHEDIR.TAG)" = 'Signature: 8a477f597d28d172789f06886806bc55'
    test "$(stat -c '%a %F' CACHEDIR.TAG .nobackup | sort -u)" = '444 regular empty file
    444 regular file'
    getfattr -d . | grep -q '^user.xdg.robots.backup="false"$'
    """
  private static let isBare =
    """
    test ! -e CACHEDIR.TAG; test ! -e .nobackup; test -z "$(getfattr -d .)"
    """
  private static let hasAttr = Command.has("getfattr") && Command.has("setfattr")

  @Test(.enabled(if: hasAttr)) func aMountIsMarkedInItsRootAlone() throws {
    let vault = try Mounted()
    try vault.check(
      """
      \(Self.isMarked)
      test "$(ls -A)" = CACHEDIR.TAG
      mkdir folder; cd folder; \(Self.isBare)
      """)
    let number = try vault.sh("stat -c %i CACHEDIR.TAG .nobackup")
    try vault.reopen()
    try vault.check("\(Self.isMarked); test \"$(ls)\" = 'CACHEDIR.TAG\nfolder'")
    #expect(try vault.sh("stat -c %i CACHEDIR.TAG .nobackup").output == number.output)
    // Higher than any a volume has: it makes none above 2^36.
    let least = number.output.split(separator: "\n").compactMap { UInt64($0) }.min()
    #expect(least.map { $0 >= 1 << 40 } == true, "\(number.output)")
  }

  @Test(.enabled(if: hasAttr)) func itIsSwitchedOff() throws {
    let vault = try Mounted(mounting: false)
    try vault.open(["-o", "nobackupmarker"])
    try vault.check("\(Self.isBare); test -z \"$(ls -A)\"")
    try vault.reopen()
    try vault.check(Self.isMarked)
  }

  @Test(.enabled(if: hasAttr)) func aMountForReadingIsMarked() throws {
    let vault = try Mounted(mounting: false)
    try vault.open(["--read-only"])
    try vault.check(
      "\(Self.isMarked); if rm -f CACHEDIR.TAG; then exit 1; fi; \(Self.isMarked)")
  }

  @Test func theTagIsReadAsAnyFileIs() throws {
    let vault = try Mounted()
    try vault.check(
      """
      cat CACHEDIR.TAG > '\(vault.scratch)/tag'
      cp CACHEDIR.TAG copy && cmp copy '\(vault.scratch)/tag'
      cp --sparse=always CACHEDIR.TAG sparse && cmp sparse '\(vault.scratch)/tag'
      cp .nobackup empty && test -f empty && test ! -s empty
      sync CACHEDIR.TAG
      test -z "$(tail -c +1000 CACHEDIR.TAG)"
      """)
    guard Command.has("python3") else { return }
    try vault.check(
      """
      /usr/bin/python3 - <<'END'
      import mmap, os
      with open("CACHEDIR.TAG", "rb") as file:
          whole = file.read()
          assert mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)[:] == whole
          size = os.fstat(file.fileno()).st_size
          assert size == len(whole)
          assert os.lseek(file.fileno(), 5, os.SEEK_DATA) == 5
          assert os.lseek(file.fileno(), 5, os.SEEK_HOLE) == size
          os.fsync(file.fileno())
      END
      """)
  }

  /// Each begins with a fresh mount, and ends with what is `mine` at the tag's place.
  static let makings = [
    "cp mine CACHEDIR.TAG", "cp -f mine CACHEDIR.TAG", "cat mine > CACHEDIR.TAG",
    "cp --remove-destination mine CACHEDIR.TAG", "install -m 600 mine CACHEDIR.TAG",
    "mv mine CACHEDIR.TAG", "ln -f mine CACHEDIR.TAG", "rm CACHEDIR.TAG; ln mine CACHEDIR.TAG",
    "rm CACHEDIR.TAG; set -C; cat mine > CACHEDIR.TAG",
    "cp mine '../other'; mv ../other CACHEDIR.TAG",
    "mkdir d; cp mine d/CACHEDIR.TAG; tar -C d -c CACHEDIR.TAG | tar -x",
    "mkdir d; cp mine d/CACHEDIR.TAG; rsync -a d/ .",
    "touch CACHEDIR.TAG; grep -q Signature CACHEDIR.TAG; cat mine > CACHEDIR.TAG",
    "echo more >> CACHEDIR.TAG; grep -q Signature CACHEDIR.TAG; cat mine > CACHEDIR.TAG",
  ]

  /// Whatever makes it: a user's own file has the place, is listed, kept, and never hidden.
  @Test(
    .enabled(
      if: Command.has("rsync") && Command.isRoot, "others may not write a file of mode 0444"),
    arguments: makings)
  func aFileOfOnesOwnTakesThePlace(making: String) throws {
    let vault = try Mounted()
    let isOwn =
      "test \"$(cat CACHEDIR.TAG)\" = 'my own'; ls | grep -q '^CACHEDIR.TAG$'; test -e .nobackup"
    try vault.check("echo 'my own' > mine; \(making)")
    try vault.check(isOwn)
    try vault.reopen()
    try vault.check(isOwn)
    // The name is an ordinary one, for a while also where nothing has it.
    try vault.check(
      """
      mv CACHEDIR.TAG aside; test ! -e CACHEDIR.TAG
      mkdir CACHEDIR.TAG; rmdir CACHEDIR.TAG; test ! -e CACHEDIR.TAG
      (set -C; echo new > CACHEDIR.TAG); rm CACHEDIR.TAG; test ! -e CACHEDIR.TAG
      """)
    try vault.reopen()
    try vault.check(Self.isMarked)
  }

  @Test(.enabled(if: hasAttr)) func whatCannotBeDoneIsRefused() throws {
    let vault = try Mounted()
    try vault.check(
      """
      echo a > a
      refused() { if "$@" 2> ../errors; then echo "$@"; exit 1; fi; grep -q "$says" ../errors; }
      says='ross-device' refused ln CACHEDIR.TAG b
      says='not permitted' refused chmod 600 CACHEDIR.TAG
      says='not permitted' refused setfattr -n user.a -v b CACHEDIR.TAG
      says='not permitted' refused setfattr -x user.a CACHEDIR.TAG
      test "$(cat a)" = a
      """)
    // mv copies where it can't rename.
    try vault.check("mkdir d; mv CACHEDIR.TAG d; test ! -e CACHEDIR.TAG; test -s d/CACHEDIR.TAG")
  }

  /// Whatever a program does with all it finds works, and the mark does not stay away.
  @Test(.enabled(if: Command.has("rsync") && hasAttr)) func anEmptiedMountIsMarked() throws {
    let vault = try Mounted()
    try vault.sh("mkdir empty", in: vault.scratch)
    for emptying in [
      "rm -r ./* ./.c", "find . -mindepth 1 -delete", "rsync -a --delete ../empty/ .",
    ] {
      try vault.check(
        """
        mkdir d; echo a > a; echo b > d/b; echo c > .c
        \(emptying); test -z "$(ls -A)"; test ! -e CACHEDIR.TAG
        for i in $(seq 200); do test -e CACHEDIR.TAG && break; sleep 0.1; done; sleep 0.5
        test "$(ls -A)" = CACHEDIR.TAG; \(Self.isMarked)
        """)
    }
    try vault.lock()
    try vault.check("test -z \"$(ls -A)\"")
  }

  /// In a repository it is a file as any other.
  @Test(.enabled(if: Command.has("git"))) func gitWorks() throws {
    let vault = try Mounted()
    try vault.check(
      """
      git init -q . && git config user.name t && git config user.email t@t; echo a > a
      git add -A && git commit -qm one && test "$(git ls-files | wc -l)" = 2
      test -z "$(git status --porcelain)" && git clean -qfdx && git clone -q . ../clone
      git checkout -q -b other && git rm -q CACHEDIR.TAG && git commit -qm two
      test ! -e CACHEDIR.TAG && git checkout -q - && grep -q Signature CACHEDIR.TAG
      test -z "$(git status --porcelain)" && git fsck --strict
      """)
    try vault.reopen()
    try vault.check("test -z \"$(git status --porcelain)\"; git ls-files | grep -q TAG")
  }

  /// As with the tag: another value is shown, and one that was removed is gone for a while.
  @Test(.enabled(if: hasAttr && Command.has("rsync"))) func theAttributeIsOnesOwnOnceItIsSet()
    throws
  {
    let vault = try Mounted()
    let name = "user.xdg.robots.backup"
    let value = "getfattr --only-values -n \(name) ."
    try vault.check("setfattr -n \(name) -v true .; test \"$(\(value))\" = true")
    try vault.reopen()
    try vault.check(
      "test \"$(\(value))\" = true; setfattr -x \(name) .; test -z \"$(getfattr -d .)\"")
    try vault.reopen()
    try vault.check(
      "test \"$(\(value))\" = false; setfattr -x \(name) .; test -z \"$(getfattr -d .)\"")
    try vault.reopen()
    // It removes what its source lacks.
    try vault.check("test \"$(\(value))\" = false; mkdir ../from; rsync -aX ../from/ .; cd ..")
  }

  /// It is nowhere in the vault.
  @Test func nothingOfItIsStored() throws {
    let vault = try Mounted()
    try vault.check("cat CACHEDIR.TAG .nobackup > /dev/null; echo a > a")
    try vault.reopen()
    try vault.lock()
    let words = ["verify", "--password-file", vault.password, vault.vault]
    let outcome = try vault.coffre(words)
    #expect(outcome.status == 0 && outcome.output.contains("checked 1 file,"), "\(outcome.output)")
    try vault.open(["-o", "nobackupmarker"])
    try vault.check("test ! -e CACHEDIR.TAG && test \"$(ls -A)\" = a")
  }
}
