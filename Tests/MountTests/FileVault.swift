import Testing

/// A vault for the verbs that work without a mount, and through it where there is one: both ways
/// the same is expected of them.
final class FileVault {
  enum Way: String, CaseIterable { case unmounted, mounted }

  let vault: Mounted
  let way: Way

  init(_ way: Way, on lower: LowerDisk? = nil) throws {
    vault = try Mounted(mounting: way == .mounted, on: lower)
    self.way = way
    _ = try vault.makeFolder("here")
  }

  /// In a script `c VERB ...` is the command, and `fails CODE VERB ...` expects it to fail; `$V` is
  /// the vault.
  private var start: String {
    """
    export V='\(vault.vault)' scratch='\(vault.scratch)'
    c() { verb=$1; shift; "$COFFRE" "$verb" --password-file '\(vault.password)' "$@"; }
    fails() {
      wanted=$1 code=0
      shift
      c "$@" > out 2> errors || code=$?
      test $code = $wanted || { echo "$code, not $wanted:" "$@"; cat errors; exit 1; }
    }
    # What must not succeed.
    no() { if "$@" > out 2>&1; then echo "not refused:" "$@"; cat out; exit 1; fi; }
    # Starts a put of what comes through a pipe, which is open at 3 then.
    begin() {
      rm -f pipe && mkfifo pipe
      "$COFFRE" put --password-file '\(vault.password)' "$V" pipe "$1" 2> errors & pid=$!
      exec 3> pipe
    }

    """
  }

  func run(_ script: String) throws -> Outcome {
    try vault.sh(start + script, in: vault.scratch + "/here")
  }

  /// A script that must succeed, in a folder of its own.
  func check(_ script: String) throws {
    let outcome = try run(script)
    #expect(outcome.status == 0, "\(way): \(script)\n\(outcome.output)")
  }
}
