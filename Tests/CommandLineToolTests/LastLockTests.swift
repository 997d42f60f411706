import POSIX
import TestKit
import Testing

@testable import Session

/// Why a mount that is gone was locked.
@Suite struct LastLockTests {
  private let folder = ScratchDirectory()

  private func lock(
    _ identifier: String, at time: Int64, _ cause: LockCause = .idle, problem: String? = nil
  ) -> LastLock {
    LastLock(
      vault: "/a b/\(identifier)", mountPoint: "/m=%", identifier: identifier, time: time,
      cause: cause, problem: problem)
  }

  @Test(arguments: LockCause.allCases) func itIsReadAsItWasWritten(cause: LockCause) throws {
    let path = LastLock.path(ofSocket: folder.path("00ff.sock"))
    #expect(path == folder.path("00ff.last"))
    let first = lock("00ff", at: 5, .killed)
    first.write(to: path)
    let second = lock("00ff", at: 1_700_000_000, cause, problem: "half is lost: 50 %")
    second.write(to: path)
    #expect(LastLock.read(path) == second)
    let mode = try System.linkStatus(at: path).mode & 0o777
    #expect(mode == 0o600)
    let names = try System.names(in: System.open(folder.path, [.directory]))
    #expect(names == ["00ff.last"])
  }

  @Test func ofEachVaultTheNewestCounts() {
    lock("aa", at: 7, .requested).write(to: folder.path("aa.last"))
    lock("aa", at: 9, .signal).write(to: folder.path("aa-2.last"))
    lock("bb", at: 3).write(to: folder.path("bb.last"))
    let found = LastLock.all(in: [folder.path, folder.path("missing")])
    #expect(found.map(\.identifier) == ["aa", "bb"])
    #expect(found.first?.cause == .signal)
  }

  /// A mount that is there has written down what would be true if it were killed.
  @Test func ofALiveMountTheLastWordIsNotHeard() throws {
    lock("aa", at: 7, .idle).write(to: folder.path("aa.last"))
    lock("aa", at: 9, .killed).write(to: folder.path("aa-2.last"))
    do {
      let listener = try System.listen(at: folder.path("aa-2.sock"))
      #expect(LastLock.all(in: [folder.path]).map(\.cause) == [.idle])
      withExtendedLifetime(listener) {}
    }
    #expect(LastLock.all(in: [folder.path]).map(\.cause) == [.killed])
  }

  /// Anything may lie there, and nothing of it is waited for.
  @Test(.timeLimit(.minutes(1))) func whatIsNoneIsPassedOver() throws {
    lock("aa", at: 7).write(to: folder.path("aa.last"))
    try System.makeDirectory(folder.path("dir.last"), mode: 0o700)
    try writeFile(folder.path("empty.last"), [])
    try writeFile(folder.path("long.last"), [UInt8](repeating: 0x41, count: 100_000))
    try writeFile(folder.path("other.last"), Array("mount id=aa\n".utf8))
    try writeFile(folder.path("cause.last"), Array("locked cause=fun id=cc time=1\n".utf8))
    let pipe = try System.spawn(
      "/bin/sh", ["sh", "-c", "cd '\(folder.path)' && mkfifo pipe.last && ln -s aa.last l.last"],
      descriptors: [.null, .null, .null], detached: false)
    #expect(try System.wait(for: pipe) == .exited(0))
    #expect(LastLock.all(in: [folder.path]) == [lock("aa", at: 7)])
    #expect(LastLock.read(folder.path("l.last")) == nil)
    // A folder in its place, or none to write to: nobody is told, and nothing is left.
    lock("dd", at: 1).write(to: folder.path("dir.last"))
    lock("dd", at: 1).write(to: folder.path("missing/dd.last"))
    let names = try System.names(in: System.open(folder.path, [.directory]))
    #expect(!names.contains { $0.hasSuffix(".new") })
  }
}

/// The words that are in files and in JSON.
@Suite struct LockWordsTests {
  @Test func theyStay() {
    #expect(
      LockCause.allCases.map(\.rawValue) == [
        "requested", "signal", "idle", "at-most", "screen", "suspend", "session-end", "shutdown",
        "not-ready", "unmounted", "killed",
      ])
    #expect(Protection.allCases.map(\.rawValue) == ["complete", "until-first-unlock"])
  }
}
