import Foundation
import POSIX
import TestKit
import Testing

/// Backups of a home folder with a vault in it: what each program passes by is in docs/BACKUP.md.
@Suite(.serialized, .enabled(if: Command.canMount, "no /dev/fuse, fusermount3 or built command"))
struct BackupTests {
  /// A program is run with some of its switches, in which `HOME` is the home folder's path and
  /// `NAME` its name.
  private struct Run {
    let tool: String
    let switches: String
    /// Whether it passes the mounted vault by, and the stored one.
    let sparesView: Bool
    let sparesStore: Bool

    init(_ tool: String, _ switches: String, view: Bool, store: Bool) {
      self.tool = tool
      self.switches = switches
      sparesView = view
      sparesStore = store
    }
  }

  /// What a backup holds once it is put back.
  private struct Found: Equatable {
    var letter: Bool
    var view: Bool
    var store: Bool
  }

  private static let planted = "une phrase qui ne doit pas sortir"

  /// The home folder is the one the vault, its mount point and the rest of a test are in.
  private func makeHome() throws -> Mounted {
    let home = try Mounted(mounting: false)
    try home.sh(
      """
      echo 'a letter' > letter
      printf -- '- /mount/\\n- /vault/\\n' > .rsync-filter
      """, in: home.scratch)
    return home
  }

  private func open(_ home: Mounted) throws {
    try home.open()
    try home.check(
      "mkdir -p Crises; echo '\(Self.planted)' > Crises/mars.csv; sync Crises/mars.csv")
  }

  private func backUp(_ home: Mounted, _ run: Run) throws -> Found {
    let room = ScratchDirectory()
    let name = try #require(home.scratch.split(separator: "/").last)
    let switches = run.switches.replacing("HOME", with: home.scratch).replacing("NAME", with: name)
    let script = Command.checks + "/backup.sh"
    let outcome = try home.sh(
      "sh '\(script)' \(run.tool) '\(switches)' '\(home.scratch)' '\(room.path("out"))'", in: "/")
    let log = try home.sh("tail -n 20 out.work/log", in: room.path).output
    #expect(outcome.status == 0, "\(run): \(log)")
    func has(_ test: String) throws -> Bool {
      try home.sh("test -n \"$(\(test) | head -n 1)\"", in: room.path).status == 0
    }
    return Found(
      letter: try has("find out -name letter -size +0"),
      view: try has("grep -ral '\(Self.planted)' .; find . -name mars.csv"),
      store: try has("find out -name root.0"))
  }

  private func expect(_ runs: [Run]) throws {
    let home = try makeHome()
    try open(home)
    for run in runs {
      let found = try backUp(home, run)
      let expected = Found(letter: true, view: !run.sparesView, store: !run.sparesStore)
      #expect(found == expected, "mounted: \(run)")
    }
    try home.lock()
    for run in runs {
      let found = try backUp(home, run)
      let expected = Found(letter: true, view: false, store: !run.sparesStore)
      #expect(found == expected, "locked: \(run)")
    }
    // Now the ciphertext is wanted, and still nothing else.
    let change = try home.coffre(["backup-policy", home.vault, "include-ciphertext"])
    #expect(change.status == 0, "\(change.output)")
    let marked = runs.filter { $0.switches.contains("-caches") || $0.switches.contains("-if-pre") }
    for run in marked {
      let locked = try backUp(home, run)
      #expect(locked == Found(letter: true, view: false, store: true), "included: \(run)")
    }
    try open(home)
    for run in marked {
      let mounted = try backUp(home, run)
      let expected = Found(letter: true, view: !run.sparesView, store: true)
      #expect(mounted == expected, "included: \(run)")
    }
  }

  @Test(.enabled(if: Command.has("tar"), "no tar")) func tar() throws {
    try expect([
      Run("tar", "--exclude-caches-all", view: true, store: true),
      Run("tar", "--exclude-caches", view: true, store: true),
      Run("tar", "--exclude-tag-all=.nobackup", view: true, store: true),
      Run("tar", "--one-file-system", view: true, store: false),
      Run("tar", "", view: false, store: false),
    ])
  }

  @Test(.enabled(if: Command.has("rsync"), "no rsync")) func rsync() throws {
    try expect([
      Run("rsync", "--exclude=/NAME/mount --exclude=/NAME/vault", view: true, store: true),
      Run("rsync", "-F", view: true, store: true),
      Run("rsync", "--one-file-system", view: true, store: false),
      Run("rsync", "", view: false, store: false),
    ])
  }

  @Test(.enabled(if: Command.has("restic"), "no restic")) func restic() throws {
    try expect([
      Run("restic", "--exclude-caches", view: true, store: true),
      Run("restic", "--exclude-if-present .nobackup", view: true, store: true),
      Run("restic", "--one-file-system", view: true, store: false),
      Run("restic", "", view: false, store: false),
    ])
  }

  @Test(.enabled(if: Command.has("borg"), "no borg")) func borg() throws {
    try expect([
      Run("borg", "--exclude-caches", view: true, store: true),
      Run("borg", "--exclude-caches --keep-exclude-tags", view: true, store: true),
      Run("borg", "--exclude-if-present .nobackup", view: true, store: true),
      Run("borg", "--one-file-system", view: true, store: false),
      Run("borg", "", view: false, store: false),
    ])
  }

  @Test(.enabled(if: Command.has("bup"), "no bup")) func bup() throws {
    try expect([
      Run("bup", "--one-file-system", view: true, store: false),
      Run("bup", "--exclude HOME/mount --exclude HOME/vault", view: true, store: true),
      Run("bup", "", view: false, store: false),
    ])
  }

  @Test(.enabled(if: Command.has("duplicity"), "no duplicity")) func duplicity() throws {
    try expect([
      Run("duplicity", "--exclude-if-present CACHEDIR.TAG", view: true, store: true),
      // It looks for the name in a listing, where the view has the other tag alone.
      Run("duplicity", "--exclude-if-present .nobackup", view: false, store: true),
      Run("duplicity", "--exclude-other-filesystems", view: true, store: false),
      Run("duplicity", "", view: false, store: false),
    ])
  }
}
