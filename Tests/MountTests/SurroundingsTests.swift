import POSIX
import Testing

/// Whoever starts the command may have left odd things behind.
@Suite(.serialized, .enabled(if: Command.canMount, "no /dev/fuse, fusermount3 or built command"))
struct SurroundingsTests {
  /// Runs a script with the command as `$COFFRE`, in the folder of `vault`, `mount`, `password`.
  private func expectWorks(_ vault: Mounted, _ script: String) throws {
    let outcome = try vault.sh(script, in: vault.scratch)
    #expect(outcome.status == 0, "\(script)\n\(outcome.output)")
  }

  /// Its default is to be ignored, so programs that ignore it see no harm in that.
  @Test func theEndOfAChildIsSeenThoughItsSignalWasIgnored() throws {
    let vault = try Mounted(mounting: false)
    try expectWorks(
      vault,
      """
      env --ignore-signal=CHLD "$COFFRE" mount --password-command 'cat password' vault mount
      env --ignore-signal=CHLD "$COFFRE" lock vault
      """)
  }

  @Test func fewDescriptorsAreEnough() throws {
    let vault = try Mounted(mounting: false)
    try expectWorks(
      vault,
      "ulimit -n 64; exec \"$COFFRE\" mount --password-command 'cat password' vault mount")
  }

  /// A file of the vault that became descriptor 1 or 2 would get what is printed.
  @Test func whatIsPrintedNeverGetsIntoTheVault() throws {
    let vault = try Mounted(mounting: false)
    try expectWorks(
      vault,
      """
      "$COFFRE" mount --foreground --password-file password vault mount 0<&- 1>&- 2>&- &
      daemon=$!
      for i in $(seq 100); do mountpoint -q mount && break; sleep 0.1; done
      for fd in 0 1 2; do test "$(readlink /proc/$daemon/fd/$fd)" = /dev/null; done
      "$COFFRE" lock vault
      wait $daemon
      test ! -s vault/lock
      """)
  }

  /// Without the state folder an older copy of the vault would go unnoticed.
  @Test func aMissingStateFolderIsToldOf() throws {
    let vault = try Mounted(mounting: false)
    let outcome = try vault.sh(
      """
      XDG_STATE_HOME=/proc/none "$COFFRE" mount --password-file password vault mount
      """, in: vault.scratch)
    #expect(outcome.status == 0 && outcome.output.contains("warning: "), "\(outcome.output)")
  }

  @Test func usualOptionsOfMountAreTaken() throws {
    let vault = try Mounted(mounting: false)
    let own = "password_file=\(vault.password),lock_after=never"
    let options = "rw,defaults,relatime,nodiratime,lazytime,noexec,nofail,x-systemd.automount"
    let helper = "'\(Command.root)/mount-scripts/mount.fuse.coffre' vault mount"
    try expectWorks(vault, "\(helper) -o '\(options),\(own)' && mountpoint -q mount")
    let mounts = try String(
      decoding: System.readFile("/proc/self/mounts", limit: 1 << 20), as: UTF8.self)
    let line = mounts.split(separator: "\n").first { $0.contains(vault.mount) }
    #expect(line?.contains("noexec") == true && line?.contains("nosuid,nodev") == true)
    try vault.lock()
    let outcome = try vault.sh("\(helper) -o 'strictatime,\(own)'", in: vault.scratch)
    #expect(outcome.status == 2 && outcome.output.contains("strictatime"), "\(outcome.output)")
    let again = try vault.sh("\(helper) -o 'remount,rw'", in: vault.scratch)
    #expect(again.status == 2 && again.output.contains("remount"), "\(again.output)")
  }

  /// Not UTF-8, and so no path that Coffre could name; it must not take another one either.
  @Test func aPathThatIsNotTextIsRefused() throws {
    let vault = try Mounted(mounting: false)
    try expectWorks(
      vault,
      """
      expect() {
        wanted=$1
        shift
        found=0
        "$COFFRE" "$@" --password-file '\(vault.password)' 2> errors || found=$?
        test $found = $wanted || { echo "$found, not $wanted:" "$@"; cat errors; exit 1; }
        grep -q UTF-8 errors
      }
      bad=$(printf 'bad\\377')
      expect 2 init "$bad"
      test -z "$(ls -d bad* 2>/dev/null)"
      mkdir -p "$bad/mount"
      expect 2 mount vault "$bad/mount"
      ln -s "$bad/mount" link
      expect 2 mount vault link
      expect 2 init "link/new"
      ln -s "$bad" folder
      expect 2 init folder
      test "$(ls "$bad")" = mount && test -z "$(ls "$bad/mount")"
      """)
  }

  /// What was not printed was not done.
  @Test func resultsThatCannotBeWrittenAreAFailure() throws {
    let vault = try Mounted(mounting: false)
    for words in ["status", "status --json", "info vault", "help", "--version"] {
      let outcome = try vault.sh("\"$COFFRE\" \(words) > /dev/full", in: vault.scratch)
      #expect([14, 17].contains(outcome.status), "\(words): \(outcome.output)")
      #expect(outcome.output.contains("standard output"), "\(words): \(outcome.output)")
    }
  }

  /// As hardened systems do for all programs: what was given out goes back to whoever gave it.
  @Test(.enabled(if: Command.has("cc"), "no C compiler"))
  func anotherAllocatorMayBePreloaded() throws {
    let vault = try Mounted(mounting: false)
    let outcome = try vault.sh(
      """
      cc -shared -fPIC -o allocator.so '\(Command.checks)/allocator.c'
      export LD_PRELOAD=$PWD/allocator.so
      "$COFFRE" mount vault mount --password-file password
      echo text > mount/file
      "$COFFRE" lock vault
      "$COFFRE" verify vault --password-file password
      """, in: vault.scratch)
    #expect(outcome.status == 0, "\(outcome.output)")
  }
}
