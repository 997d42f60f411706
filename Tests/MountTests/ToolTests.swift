import Foundation
import Testing

/// Ordinary programs in a real mount, and again after it was locked and opened.
@Suite(.serialized, .enabled(if: Command.canMount, "no /dev/fuse, fusermount3 or built command"))
struct ToolTests {
  @Test(.enabled(if: Command.has("git"))) func git() throws {
    let vault = try Mounted()
    try vault.check(
      """
      git init -q source && cd source && git config user.name t && git config user.email t@t
      for i in $(seq 200); do echo "line $i" > file$i; done
      git add . && git commit -qm one && cd ..
      git clone -q source copy && cd copy && git fsck --strict && git gc -q && git fsck
      test -z "$(git status --porcelain)"
      """)
    try vault.reopen()
    try vault.check("cd copy && git fsck --strict && test -z \"$(git status --porcelain)\"")
  }

  @Test(.enabled(if: Command.has("sqlite3")), arguments: ["wal", "delete", "truncate"])
  func sqlite(mode: String) throws {
    let vault = try Mounted()
    try vault.check(
      """
      sqlite3 db 'pragma journal_mode=\(mode); create table t(a, b);'
      for i in $(seq 30); do sqlite3 db "insert into t values($i, hex(randomblob(500)));"; done
      sqlite3 db 'with recursive c(x) as (select 1 union all select x+1 from c where x<5000)
        insert into t select x, hex(randomblob(50)) from c;'
      test "$(sqlite3 db 'pragma integrity_check; select count(*) from t;')" = "ok
      5030"
      """)
    try vault.reopen()
    try vault.check(
      "test \"$(sqlite3 db 'pragma integrity_check; select count(*) from t;')\" = 'ok\n5030'")
  }

  @Test(.enabled(if: Command.has("rsync"))) func rsync() throws {
    let vault = try Mounted()
    let source = vault.scratch + "/source"
    try vault.check(
      """
      mkdir -p '\(source)/sub' && cd '\(source)'
      head -c 3000000 /dev/urandom > big && echo small > sub/small && ln sub/small hard
      ln -s sub/small soft && mkfifo fifo && setfattr -n user.k -v value sub/small
      touch -d '1999-12-31 23:59:59.123456789' sub/small && chmod 4711 big
      rsync -aHAX ./ '\(vault.mount)/there/'
      test -z "$(rsync -aHAX --checksum --dry-run -i ./ '\(vault.mount)/there/')"
      """)
    try vault.reopen()
    try vault.check(
      """
      test -z "$(rsync -aHAX --checksum --dry-run -i '\(source)/' there/)"
      rsync -aHAX there/ '\(vault.scratch)/back/'
      test -z "$(rsync -aHAX --checksum --dry-run -i there/ '\(vault.scratch)/back/')"
      """)
  }

  @Test func tarAndSparseFiles() throws {
    let vault = try Mounted()
    try vault.check(
      """
      truncate -s 1T huge && test "$(stat -c %b huge)" = 0 && rm huge
      truncate -s 200M sparse
      printf end | dd of=sparse bs=1 seek=100000000 conv=notrunc status=none
      setfattr -n user.note -v text sparse
      tar --xattrs -S -cf archive.tar sparse && test "$(stat -c %s archive.tar)" -lt 1000000
      mkdir out && tar --xattrs -xf archive.tar -C out && cmp sparse out/sparse
      getfattr -n user.note --only-values out/sparse | grep -q text
      cp --sparse=always sparse copy && cmp sparse copy && test "$(stat -c %b copy)" -lt 1000
      """)
  }

  @Test func editors() throws {
    let vault = try Mounted()
    try vault.check(
      "seq 1000 > f && sed -i s/500/five/ f && grep -q five f && test $(wc -l < f) = 1000")
    if Command.has("vim.tiny") || Command.has("vim") {
      try vault.check(
        """
        $(command -v vim || command -v vim.tiny) -u NONE -es -c '%s/five/FIVE/' -c wq f
        grep -q FIVE f
        """
      )
    }
  }

  @Test(.enabled(if: Command.has("fio"))) func fioVerify() throws {
    let vault = try Mounted()
    try vault.check(
      """
      fio --name=v --rw=randwrite --bs=4k --size=8m --numjobs=4 --verify=crc32c --ioengine=psync \
        --do_verify=1 --verify_fatal=1 --minimal > /dev/null
      """)
  }

  @Test(.enabled(if: Command.has("python3"))) func pythonEnvironment() throws {
    let vault = try Mounted()
    try vault.check("/usr/bin/python3 -m venv --without-pip e && e/bin/python -c 'print(1)'")
  }

  @Test func twoProcessesWithFlock() throws {
    let vault = try Mounted()
    try vault.check(
      """
      echo 0 > n
      add() { for i in $(seq 50); do flock n.lock sh -c 'read v < n; echo $((v+1)) > n'; done; }
      add & add & wait
      test "$(cat n)" = 100
      """)
  }

  /// A large tree, copied in, locked, opened: nothing differs, and the vault tells nothing of it.
  @Test(.enabled(if: Command.has("rsync"))) func largeTree() throws {
    let vault = try Mounted()
    try vault.check("echo 'a planted secret sentence' > 'A Planted Name.txt'")
    try vault.check("rsync -aHAX /usr/share/doc /usr/share/perl5 tree/ 2>/dev/null || true")
    try vault.reopen()
    try vault.check(
      """
      left=$(rsync -aHAX --checksum --dry-run -i /usr/share/doc /usr/share/perl5 tree/ 2>/dev/null)
      test -z "$left"
      """
    )
    let grep = try vault.sh(
      "grep -ra -e 'planted secret' -e 'A Planted Name' -e copyright '\(vault.vault)'", in: "/")
    #expect(grep.status == 1, "found in the vault: \(grep.output.prefix(200))")
  }
}
