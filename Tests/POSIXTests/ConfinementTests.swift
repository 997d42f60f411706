import Bytes
import Glibc
import TestKit
import Testing

@testable import POSIX

/// What a confined process asks for is refused. Each in a process of its own, for there is no way
/// back.
@Suite struct ConfinementTests {
  /// A call by its number, as nothing of the C library stands in the way then.
  private static func call(_ number: Int, _ argument: Int = 0, _ other: Int = 0) -> Errno? {
    typealias Raw = @convention(c) (Int, Int, Int, Int, Int, Int, Int) -> Int
    guard let symbol = unsafe dlsym(nil, "syscall") else { return nil }
    let raw = unsafe unsafeBitCast(symbol, to: Raw.self)
    let result = raw(number, argument, other, 0, 0, 0, 0)
    if number == clone, result == 0 { _exit(0) }
    return result < 0 ? .current : nil
  }

  #if arch(x86_64)
    private static let clone = 56
    private static let refused: [(String, Int)] = [
      ("socket", 41), ("socketpair", 53), ("connect", 42), ("bind", 49), ("listen", 50),
      ("execve", 59), ("execveat", 322), ("fork", 57), ("vfork", 58), ("process_vm_readv", 310),
      ("process_vm_writev", 311), ("mount", 165), ("umount2", 166), ("ptrace", 101),
      ("pidfd_getfd", 438), ("io_uring_setup", 425), ("x32 getpid", 0x4000_0027),
      ("truncate", 76), ("chmod", 90), ("fchmodat", 268), ("chown", 92), ("lchown", 94),
      ("fchownat", 260), ("setxattr", 188), ("lsetxattr", 189), ("removexattr", 197),
      ("lremovexattr", 198), ("utime", 132), ("utimes", 235), ("futimesat", 261),
      ("utimensat", 280), ("kill", 62), ("tkill", 200), ("rt_sigqueueinfo", 129),
      ("rt_tgsigqueueinfo", 297),
    ]
    private static let (tgkill, limits, control, ioctl) = (234, 302, 72, 16)
  #else
    private static let clone = 220
    private static let refused: [(String, Int)] = [
      ("socket", 198), ("socketpair", 199), ("connect", 203), ("bind", 200), ("listen", 201),
      ("execve", 221), ("execveat", 281), ("process_vm_readv", 270),
      ("process_vm_writev", 271), ("mount", 40), ("umount2", 39), ("ptrace", 117),
      ("pidfd_getfd", 438), ("io_uring_setup", 425), ("truncate", 45), ("fchmodat", 53),
      ("fchownat", 54), ("setxattr", 5), ("lsetxattr", 6), ("removexattr", 14),
      ("lremovexattr", 15), ("utimensat", 88), ("kill", 129), ("tkill", 130),
      ("rt_sigqueueinfo", 138), ("rt_tgsigqueueinfo", 240),
    ]
    private static let (tgkill, limits, control, ioctl) = (131, 261, 25, 29)
  #endif

  @Test(.timeLimit(.minutes(1))) func callsAreRefusedInAllThreads() async {
    await #expect(processExitsWith: .success) {
      let scratch = ScratchDirectory()
      // What is open already goes on: a listening socket takes connections.
      let listener = try System.listen(at: scratch.path("socket"))
      let client = try System.connect(to: scratch.path("socket"), patience: 1000)
      let before = ConfinementTests.call(ConfinementTests.refused[0].1)
      #expect(before != .notPermitted, "nothing but the filter refuses it")
      let isConfined = Monitor(false)
      let found = Lock<Errno?>(nil)
      let earlier = try Thread.start("test-earlier") {
        isConfined.withLock(when: { $0 }, timeout: nil) { _ in }
        let failure = ConfinementTests.call(ConfinementTests.refused[0].1)
        found.withLock { $0 = failure }
      }

      try Confinement.refuseCalls()
      isConfined.withLock { $0 = true }
      for (name, number) in ConfinementTests.refused {
        let failure = ConfinementTests.call(number)
        #expect(failure == .notPermitted, "\(name)")
      }
      // A process by clone(2), with SIGCHLD alone; clone3(2) is said to be missing.
      let process = ConfinementTests.call(ConfinementTests.clone, 17)
      #expect(process == .notPermitted)
      let newer = ConfinementTests.call(435)
      #expect(newer == .notImplemented)
      let spawned = #expect(throws: Errno.self) {
        try System.spawn("/bin/true", ["true"], descriptors: [], detached: false)
      }
      #expect(spawned == .notPermitted)

      earlier.join()
      let failure = found.withLock { $0 }
      #expect(failure == .notPermitted, "a thread that was there before")
      // Threads, files and pipes are as before.
      try Thread.start("test-later") {}.join()
      _ = try System.accept(listener)
      _ = try Pipe()
      try writeFile(scratch.path("file"), [1])
      _ = client
    }
  }

  /// The files Landlock keeps nobody from changing by path, and the processes of the same user.
  @Test(.timeLimit(.minutes(1))) func nothingIsChangedByPathOrSignal() async {
    await #expect(processExitsWith: .success) {
      let scratch = ScratchDirectory()
      let path = scratch.path("file")
      try writeFile(path, [1, 2, 3])
      let parent = Int(getppid())
      let pipe = try Pipe()
      let isAllowed = unsafe truncate(path, 3) == 0 && chmod(path, 0o600) == 0
      #expect(isAllowed, "nothing but the filter refuses it")
      let before = try System.status(at: path)

      try Confinement.refuseCalls()
      let results = unsafe [
        truncate(path, 0), chmod(path, 0o777), chown(path, getuid(), getgid()), utimes(path, nil),
        kill(pid_t(parent), 0), kill(-1, 0),
      ]
      #expect(results == [-1, -1, -1, -1, -1, -1])
      let after = try System.status(at: path)
      #expect(after.size == before.size && after.permissions == before.permissions)
      let number = Int(pipe.reading.rawValue)
      for failure in [
        ConfinementTests.call(ConfinementTests.tgkill, parent, parent),
        ConfinementTests.call(ConfinementTests.limits, parent, 0),
        ConfinementTests.call(ConfinementTests.control, number, 8 /* F_SETOWN */),
        ConfinementTests.call(ConfinementTests.control, number, 15 /* F_SETOWN_EX */),
        ConfinementTests.call(ConfinementTests.ioctl, number, 0x8901 /* FIOSETOWN */),
      ] {
        #expect(failure == .notPermitted)
      }
      // Of its own, as pthread_kill(3), abort(3) and sysconf(3) do.
      let own = [
        ConfinementTests.call(ConfinementTests.tgkill, Int(getpid()), Int(getpid())),
        ConfinementTests.call(ConfinementTests.limits, 0, 0),
        ConfinementTests.call(ConfinementTests.control, number, 3),
      ]
      #expect(own == [nil, nil, nil])
      withExtendedLifetime(scratch) {}
      _ = pipe
    }
  }

  @Test(.timeLimit(.minutes(1)), .enabled(if: Confinement.hasLandlock, "no Landlock here"))
  func filesOutsideAreOutOfReach() async {
    await #expect(processExitsWith: .success) {
      let scratch = ScratchDirectory()
      for name in ["own", "own/folder", "system", "other"] {
        try System.makeDirectory(scratch.path(name), mode: 0o700)
        try writeFile(scratch.path(name + "/file"), [1])
      }
      // It holds for the thread alone, so that the folder can be removed.
      let thread = try Thread.start("test-confined") {
        let isConfined = Confinement.confineFiles(
          changing: [scratch.path("own"), scratch.path("absent")],
          reading: [scratch.path("system")])
        #expect(isConfined)
        func attempt(_ path: String, _ flags: OpenFlags) -> Errno? {
          do throws(Errno) {
            _ = try System.open(scratch.path(path), flags)
            return nil
          } catch { return error }
        }
        #expect(attempt("other/new", [.readWrite, .create]) == .accessDenied)
        for name in ["other/file", "own/../other/file"] {
          #expect(attempt(name, .readOnly) == .accessDenied, "\(name)")
          #expect(attempt(name, [.readWrite, .create]) == .accessDenied, "\(name)")
        }
        #expect(attempt("system/file", .readOnly) == nil)
        #expect(attempt("system/file", .readWrite) == .accessDenied)
        #expect(attempt("system/new", [.writeOnly, .create]) == .accessDenied)
        #expect(attempt("own/new", [.readWrite, .create, .exclusive]) == nil)
        #expect(attempt("own/file", [.readWrite, .truncate]) == nil)
        #expect(attempt("own", .directory) == nil && attempt("other", .directory) != nil)
        let own = unsafe [
          rename(scratch.path("own/new"), scratch.path("own/folder/new")),
          unlink(scratch.path("own/folder/new")), mkdir(scratch.path("own/made"), 0o700),
          rmdir(scratch.path("own/made")),
        ]
        #expect(own == [0, 0, 0, 0])
        let other = unsafe [
          unlink(scratch.path("other/file")),
          rename(scratch.path("own/file"), scratch.path("other/moved")),
          mkdir(scratch.path("other/made"), 0o700),
        ]
        #expect(other == [-1, -1, -1])
        let later = Lock<Errno?>(nil)
        try? Thread.start("test-later") {
          do throws(Errno) { _ = try System.open("/etc/passwd", .readOnly) } catch {
            let failure = error
            later.withLock { $0 = failure }
          }
        }.join()
        let failure = later.withLock { $0 }
        #expect(failure == .accessDenied, "a thread that it starts")
      }
      thread.join()
      withExtendedLifetime(scratch) {}
    }
  }

  /// A descriptor goes along, under a number of its own, and is the same file.
  @Test func packetsCarryDescriptors() throws {
    let sockets = try System.packetSockets()
    let other = try System.duplicate(sockets.otherNumber)
    let one = sockets.intoOne()
    let pipe = try Pipe()
    try System.sendPacket(one, [1, 2, 3], with: pipe.writing.rawValue)
    try System.sendPacket(one, [4])
    let first = try System.receivePacket(other)
    #expect(first.bytes == [1, 2, 3])
    guard let writing = first.intoDescriptor() else {
      Issue.record("no descriptor came")
      return
    }
    try System.send(writing, Buffer([7]).bytes)
    let second = try System.receivePacket(other)
    #expect(second.bytes == [4])
    let isThere = System.waitForInput(pipe.reading, milliseconds: 1000)
    #expect(isThere)
    _ = consume one
    let end = try System.receivePacket(other)
    #expect(end.bytes == [])
  }
}
