import Disk
import FuseBridge
import POSIX
import Synchronization
import TestKit
import Testing
import Volume

/// A lock while the vault's disk is slow, hangs, or a program writes all the time. Real mounts,
/// served by this process, whose disk the test holds.
@Suite(
  .serialized, .enabled(if: LocalMount.canMount, "no /dev/fuse or fusermount3"),
  .enabled(if: System.fileExists("/usr/bin/python3")))
struct HangingDiskTests {
  /// Leaves some pages with the kernel, too few to be written back at once, in a file that stays
  /// open for long. By one descriptor, since the end of each writes back.
  private static let holder = #"""
    exec /usr/bin/python3 -c '
    import os, sys, time
    file = os.open(sys.argv[1], os.O_CREAT | os.O_RDWR)
    os.write(file, os.urandom(40000))
    open("written", "w").close()
    while not os.path.exists("ended"): time.sleep(0.05)
    ' "$mount/file"
    """#

  private func options(patience: Double, calls: @escaping @Sendable () -> Int = { 0 })
    -> MountOptions
  {
    var options = MountOptions()
    options.patience = patience
    options.lowerCalls = calls
    return options
  }

  /// The kernel drops its dirty pages without a request that would tell of them.
  @Test(.timeLimit(.minutes(2))) func pagesThatWereGivenUpAreAFailure() throws {
    let held = HeldDisk(SimulatedDisk())
    let mount = try LocalMount(on: held, options(patience: 1))
    let gate = held.hold(.write, of: "data", .before)
    let holder = try mount.start(Self.holder)
    #expect(mount.waits(for: "written"))
    try Thread.start("test-gate") {
      Clock.sleep(nanoseconds: 6_000_000_000)
      gate.open()
    }
    mount.stop()
    let (isCut, failure) = (mount.session.isCut, mount.session.writeBackFailure)
    #expect(isCut)
    #expect(failure == .ioError)
    try writeFile(mount.scratch.path("ended"), [])
    _ = try System.wait(for: holder)
  }

  /// The same stillness of requests, while calls of the disk come to their end.
  @Test(.timeLimit(.minutes(2))) func aDiskThatIsSlowIsNotGivenUp() throws {
    let calls = CallCount()
    let held = HeldDisk(SimulatedDisk())
    let mount = try LocalMount(on: held, options(patience: 1) { calls.count })
    let gate = held.hold(.write, of: "data", .before)
    let holder = try mount.start(Self.holder)
    #expect(mount.waits(for: "written"))
    try Thread.start("test-gate") {
      for _ in 0..<20 {
        Clock.sleep(nanoseconds: 200_000_000)
        calls.add()
      }
      gate.open()
    }
    mount.stop()
    let (isCut, failure) = (mount.session.isCut, mount.session.writeBackFailure)
    #expect(!isCut)
    #expect(failure == nil)
    try writeFile(mount.scratch.path("ended"), [])
    _ = try System.wait(for: holder)
  }

  /// The answer to what was begun before gives the kernel attributes to believe, so that it would
  /// take a write(2) which nobody is there to store.
  @Test(.timeLimit(.minutes(2))) func aSlowCreationLosesNothing() throws {
    let held = HeldDisk(SimulatedDisk())
    let mount = try LocalMount(on: held, options(patience: 10))
    let gate = held.hold(.write, of: "journal", .before)
    let writer = try mount.start(
      #"""
      exec /usr/bin/python3 -c '
      import os, sys, time
      open("asked", "w").close()
      try:
          file = os.open(sys.argv[1], os.O_CREAT | os.O_RDWR)
          os.write(file, b"x" * 40000)
          open("kept", "w").close()
      except OSError:
          open("refused", "w").close()
      while not os.path.exists("ended"): time.sleep(0.05)
      ' "$mount/file"
      """#)
    #expect(mount.waits(for: "asked"))
    try Thread.start("test-gate") {
      Clock.sleep(nanoseconds: 3_000_000_000)
      gate.open()
    }
    let stored = Lock<UInt64?>(nil)
    mount.session.stop {
      let volume = mount.volume
      let size = try? volume.lookup(FileName(Array("file".utf8)), in: .root).size
      stored.withLock { $0 = size }
      try? volume.close()
    }
    let size = stored.withLock { $0 }
    let (isCut, failure) = (mount.session.isCut, mount.session.writeBackFailure)
    #expect(!isCut && failure == nil)
    while !["kept", "refused"].contains(where: { System.fileExists(mount.scratch.path($0)) }) {
      Clock.sleep(nanoseconds: 20_000_000)
    }
    let isKept = System.fileExists(mount.scratch.path("kept"))
    #expect(System.fileExists(mount.scratch.path("refused")) != isKept)
    if isKept { #expect(size == 40000) }
    try writeFile(mount.scratch.path("ended"), [])
    _ = try System.wait(for: writer)
  }

  /// Its pages are always ahead of whoever walks through them.
  @Test(.timeLimit(.minutes(3))) func aProgramThatWritesAllTheTimeIsStopped() throws {
    let lower = ScratchDirectory()
    let disk = try PosixDisk(path: lower.path)
    let mount = try LocalMount(on: disk, options(patience: 5) { disk.finishedCalls })
    let writer = try mount.start(
      "dd if=/dev/zero of=\"$mount/big\" bs=64k count=300000 2> /dev/null")
    Clock.sleep(nanoseconds: 2_000_000_000)
    let start = Clock.monotonic
    mount.stop()
    // The kernel believes attributes for 60 s, and would ask nothing before.
    #expect(Clock.monotonic - start < 45_000_000_000)
    let (isCut, failure) = (mount.session.isCut, mount.session.writeBackFailure)
    let end = try System.wait(for: writer)
    #expect(end != .exited(0), "the lock waited for the end of the copy")
    #expect(!isCut)
    #expect(failure == nil)
  }
}

final class CallCount: Sendable {
  private let value = Atomic<Int>(0)
  var count: Int { value.load(ordering: .relaxed) }
  func add() { value.wrappingAdd(1, ordering: .relaxed) }
}
