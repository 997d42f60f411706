import Bytes
import Glibc
import POSIX
import TestKit
import Testing

@Suite struct DescriptorTests {
  private let folder = ScratchDirectory()

  /// Whether the number is that of an open file which has this inode.
  private func isOpen(_ number: Int32, _ inode: UInt64) -> Bool {
    var status = stat()
    return unsafe fstat(number, &status) == 0 && UInt64(status.st_ino) == inode
  }

  @Test func aDescriptorIsClosedByItsOwner() throws {
    var number: Int32 = -1
    var inode: UInt64 = 0
    do {
      let file = try System.open(folder.path("file"), [.readWrite, .create])
      number = file.rawValue
      inode = try System.status(of: file).inode
      #expect(isOpen(number, inode))
      #expect(fcntl(number, F_GETFD) & FD_CLOEXEC != 0, "no child inherits it")
    }
    #expect(!isOpen(number, inode))
  }

  @Test func aDetachedDescriptorStaysOpen() throws {
    let file = try System.open(folder.path("file"), [.readWrite, .create])
    let inode = try System.status(of: file).inode
    let number = file.detach()
    #expect(isOpen(number, inode))
    close(number)
  }

  @Test func bytesComeBack() throws {
    let file = try System.open(folder.path("file"), [.readWrite, .create])
    let bytes = Buffer([1, 2, 3, 4, 5])
    try System.write(file, bytes.bytes, at: 10)
    #expect(try System.status(of: file).size == 15)
    let back = Buffer(count: 20)
    var span = back.mutableBytes(in: 0..<20)
    #expect(try System.read(file, into: &span, at: 8) == 7)
    #expect(back.load(0..<8) == [0, 0, 1, 2, 3, 4, 5, 0])
    try System.fdatasync(file)
    try System.fsync(file)
    try System.resize(file, to: 11)
    #expect(try System.status(of: file).size == 11)
  }

  @Test func failuresCarryTheirNumber() throws {
    func failure(_ body: () throws(Errno) -> Void) -> Errno? {
      do throws(Errno) {
        try body()
        return nil
      } catch { return error }
    }
    let path = folder.path("file")
    #expect(failure { () throws(Errno) in _ = try System.open(path, []) } == .noSuchFile)
    try writeFile(path, [1])
    #expect(
      failure { () throws(Errno) in _ = try System.open(path, [.create, .exclusive]) } == .exists)
    #expect(
      failure { () throws(Errno) in _ = try System.open(path, .directory) } == .notDirectory)
    let file = try System.open(path, .readOnly)
    let buffer = Buffer([1])
    #expect(
      failure { () throws(Errno) in
        try System.write(file, buffer.bytes, at: 0)
      } == .badDescriptor)
  }

  @Test func directoriesAreListed() throws {
    let directory = try System.open(folder.path, .directory)
    try System.makeDirectory("sub", in: directory, mode: 0o700)
    for name in ["b", "a", ".hidden"] { try writeFile(folder.path(name), []) }
    #expect(try System.names(in: directory).sorted() == [".hidden", "a", "b", "sub"])
    #expect(try System.names(in: directory).count == 4, "a second listing starts anew")
    try System.rename("a", in: directory, to: "b", in: directory)
    try System.remove("sub", in: directory, isDirectory: true)
    #expect(try System.names(in: directory).sorted() == [".hidden", "b"])
    #expect(try System.status(of: "b", in: directory).isRegular)
  }

  @Test func aLockExcludes() throws {
    let one = try System.open(folder.path("file"), [.readWrite, .create])
    let two = try System.open(folder.path("file"), .readWrite)
    try System.lock(one, exclusive: true)
    #expect(throws: Errno.tryAgain) { try System.lock(two, exclusive: true) }
  }
}

@Suite struct ThreadTests {
  @Test(.timeLimit(.minutes(1)))
  func aThreadRunsAndIsJoined() throws {
    let ran = Lock(0)
    try inThreads(10) { index in ran.withLock { $0 += index } }
    #expect(ran.withLock { $0 } == 45)
  }

  /// Signals are for the main thread: one that lands elsewhere would interrupt any system call.
  @Test func signalsAreBlockedInAThread() throws {
    let blocked = Lock(false)
    try inThreads(1) { _ in
      var set = sigset_t()
      unsafe pthread_sigmask(SIG_SETMASK, nil, &set)
      let all = [SIGTERM, SIGINT, SIGHUP, SIGUSR1].allSatisfy { unsafe sigismember(&set, $0) == 1 }
      blocked.withLock { $0 = all }
    }
    #expect(blocked.withLock { $0 })
  }

  @Test func theStarterKeepsItsSignals() throws {
    var before = sigset_t()
    unsafe pthread_sigmask(SIG_SETMASK, nil, &before)
    try inThreads(1) { _ in }
    var after = sigset_t()
    unsafe pthread_sigmask(SIG_SETMASK, nil, &after)
    for signal in [SIGTERM, SIGINT, SIGHUP, SIGUSR1] {
      let same = unsafe sigismember(&before, signal) == sigismember(&after, signal)
      #expect(same)
    }
  }

  /// What a thread's body holds is released when the thread ends.
  @Test func aThreadReleasesItsBody() throws {
    final class Witness: Sendable {}
    weak var left: Witness?
    do {
      let witness = Witness()
      left = witness
      try Thread.start("test") { withExtendedLifetime(witness) {} }.join()
    }
    #expect(left == nil)
  }

  /// Two mappings stay of a thread that is neither joined nor detached: its stack and the guard.
  @Test(.timeLimit(.minutes(1)))
  func nothingStaysOfAThreadThatNobodyJoins() throws {
    func mappings() throws -> Int {
      try System.readFile("/proc/self/maps", limit: 1 << 24).count { $0 == UInt8(ascii: "\n") }
    }
    let before = try mappings()
    for _ in 0..<500 {
      let ended = Monitor(false)
      try Thread.start("test") { ended.withLock { $0 = true } }
      ended.withLock(when: { $0 }, timeout: nil) { _ in }
    }
    // Other tests have threads as well.
    #expect(try mappings() < before + 500)
  }
}

@Suite struct ClockTests {
  @Test func clocksGoForward() {
    let monotonic = Clock.monotonic
    let boottime = Clock.boottime
    Clock.sleep(nanoseconds: 2_000_000)
    #expect(Clock.monotonic - monotonic >= 2_000_000)
    #expect(Clock.boottime - boottime >= 2_000_000)
    #expect(Clock.realtime.seconds > 1_600_000_000)
    #expect(Clock.realtime.nanoseconds < 1_000_000_000)
  }

  @Test func errorsAreDescribed() {
    #expect(Errno.noSuchFile.description == "No such file or directory")
    #expect(Errno.noSpace.description == "No space left on device")
    #expect(!Errno(rawValue: 99999).description.isEmpty)
  }
}
