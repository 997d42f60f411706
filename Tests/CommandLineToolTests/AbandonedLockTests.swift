import Crypto
import Format
import POSIX
import TestKit
import Testing
import Volume

@testable import Disk
@testable import Session
@testable import Vault

/// A lock ends though the vault's disk never answers again. In a process of its own: all keys of
/// the process go.
@Suite(.enabled(if: LocalMount.canMount, "no /dev/fuse or fusermount3"))
struct AbandonedLockTests {
  /// A vault on a disk of the test, mounted; `run` of it goes on by itself.
  private static func mounted(on disk: any Disk, in scratch: ScratchDirectory) throws
    -> ActiveMount
  {
    try System.makeDirectory(scratch.path("mount"), mode: 0o700)
    let configuration = Configuration(vault: LocalMount.identifier, generation: 1, cost: .frozen)
    let vault = OpenVault(
      try Vault(path: scratch.path), VaultInformation(configuration, copiesDiffer: false),
      try LocalMount.makeVolume(on: disk), isReadOnly: false, lock: VaultLock(nil))
    var settings = MountSettings(vault: scratch.path, mountPoint: scratch.path("mount"))
    settings.patience = 1
    settings.isGuarded = false
    let mount = try ActiveMount(vault, settings)
    let isReady = Monitor(false)
    try Thread.start("test-mount") { try? mount.run { isReady.withLock { $0 = true } } }
    isReady.withLock(when: { $0 }, timeout: 20_000_000_000) { precondition($0, "a mount") }
    return mount
  }

  @Test(.timeLimit(.minutes(1))) func keysGoThoughTheVaultCannotBeClosed() async {
    await #expect(processExitsWith: .success) {
      let scratch = ScratchDirectory()
      let held = HeldDisk(SimulatedDisk())
      let mount = try AbandonedLockTests.mounted(on: held, in: scratch)
      let secret = SecretBytes(random: 32)
      // Until the process ends.
      _ = held.hold(.sync, of: "", .before)
      let start = Clock.monotonic
      mount.lock(.requested)
      #expect(Clock.monotonic - start < 15_000_000_000, "not before the disk gave in")
      #expect(mount.isAbandoned && mount.cause == .requested)
      let failure = mount.failure
      #expect(failure?.code == .systemError)
      #expect(failure?.message.contains("did not answer") == true)
      let left = bytes(secret)
      #expect(left == [UInt8](repeating: 0, count: 32))
      let table = try System.readFile("/proc/self/mountinfo", limit: 16 << 20)
      #expect(!String(decoding: table, as: UTF8.self).contains(scratch.path("mount")))
    }
  }
}
