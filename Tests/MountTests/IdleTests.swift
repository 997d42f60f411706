import Foundation
import Testing

/// What holds a vault open that locks itself, and what does not.
@Suite(.serialized, .enabled(if: Command.canMount, "no /dev/fuse, fusermount3 or built command"))
struct IdleTests {
  /// A page that is in the kernel's memory is read every five seconds, so that no request is seen
  /// but those the lock itself causes. Then it rests, and the open file does not hold the vault.
  @Test func aReaderOfCachedPagesHoldsItOpen() throws {
    let vault = try Mounted(mounting: false)
    try vault.open(["--lock-after", "12s"])
    try vault.check("seq 20000 > file && sync -f . && cat file > /dev/null")
    let outcome = try vault.sh(
      """
      exec 3< '\(vault.mount)/file'
      for second in 5 10 15 20 25; do
        sleep 5
        dd bs=4096 count=1 <&3 2>&1 > /dev/null || { echo "cut off after $second s"; exit 1; }
      done
      for second in $(seq 30); do
        sleep 1
        grep -q ' \(vault.mount) ' /proc/self/mountinfo || exit 0
      done
      echo "not locked"
      exit 1
      """, in: "/")
    #expect(outcome.status == 0, "\(outcome.output)")
  }

  /// Bytes added to a file that is open stay in the kernel's memory for long.
  @Test func aWriterHoldsItOpen() throws {
    let vault = try Mounted(mounting: false)
    try vault.open(["--lock-after", "10s"])
    let outcome = try vault.sh(
      """
      exec 3> '\(vault.mount)/file'
      for second in 4 8 12 16 20; do
        sleep 4
        echo $second >&3 || exit 1
      done
      test "$(cat '\(vault.mount)/file')" = "$(seq 4 4 20)"
      """, in: "/")
    #expect(outcome.status == 0, "\(outcome.output)")
  }
}
