import Bytes
import POSIX
import TestKit
import Testing
import Vault
import Volume

@testable import Session

/// What a command makes of a mount that it can't reach, or that is slow.
@Suite struct ReachingTests {
  private let folder = ScratchDirectory()
  private var path: String { folder.path("00ff.sock") }

  private var found: ControlClient.Found {
    ControlClient.Found(
      status: MountStatus(
        vault: "/v", folder: "1:2", mountPoint: "/m", identifier: "00ff", since: 0, idle: 0,
        lockAfter: nil,
        readOnly: false, generation: 1, healedCopies: 0, unreadablePieces: 0, process: 1,
        problems: []),
      socket: path)
  }

  /// Its queue is full: it is there, and open.
  @Test(.timeLimit(.minutes(1))) func whoCannotBeReachedIsNotTakenForGone() throws {
    let listener = try System.listen(at: path)
    var waiting: [Connection] = []
    while let connection = try? System.connect(to: path, patience: 20) {
      waiting.append(Connection(connection))
    }
    #expect(throws: Failure.self) { try ControlClient.lock(found, patience: 20) }
    withExtendedLifetime(waiting) {}
    withExtendedLifetime(listener) {}
  }

  @Test func whoIsGoneIsLocked() throws {
    try ControlClient.lock(found, patience: 20)
    _ = try System.listen(at: path)
    try ControlClient.lock(found, patience: 20)
  }

  /// No outcome is no clean bill.
  @Test(.timeLimit(.minutes(1)), arguments: [true, false])
  func aCheckThatDoesNotEndIsTold(isStopped: Bool) throws {
    let listener = Lock(try System.listen(at: path))
    let server = try Thread.start("test-server") {
      guard let connection = listener.withLock({ try? Connection(System.accept($0)) }) else {
        return
      }
      _ = connection.receive(patience: 1000)
      try? connection.send(Message("progress", ["done": "1", "total": "2"]))
      guard isStopped else { return }
      try? connection.send(Message(Failure(VerifyError.stopped, vault: "/v")))
    }
    let told = Lock<UInt64>(0)
    let failure = #expect(throws: Failure.self) {
      _ = try ControlClient.verify(found, path: nil, isQuick: false) { progress in
        told.withLock { $0 = progress.done }
      }
    }
    server.join()
    #expect(failure?.code == .notChecked && told.withLock { $0 } == 1)
  }

  /// Whoever heard of a failure may go on to eject the disk.
  @Test(.timeLimit(.minutes(1))) func aFailureIsToldWhenTheProcessIsGone() throws {
    let listener = try System.listen(at: path)
    let isGone = Lock(false)
    let waiting = Lock(listener)
    let server = try Thread.start("test-server") {
      guard let connection = waiting.withLock({ try? Connection(System.accept($0)) }) else {
        return
      }
      _ = connection.receive(patience: 1000)
      try? connection.send(Message(Failure(.noSpace, "lost")))
      Clock.sleep(nanoseconds: 500_000_000)
      isGone.withLock { $0 = true }
      withExtendedLifetime(connection) {}
    }
    let failure = #expect(throws: Failure.self) { try ControlClient.lock(found, patience: 1000) }
    #expect(failure?.code == .noSpace)
    #expect(isGone.withLock { $0 })
    server.join()
  }

  /// Its disk holds a thread of it, perhaps for ever.
  @Test(.timeLimit(.minutes(1))) func aProcessThatStaysIsNotWaitedFor() throws {
    let waiting = Lock(try System.listen(at: path))
    let isOver = Monitor(false)
    let server = try Thread.start("test-server") {
      guard let connection = waiting.withLock({ try? Connection(System.accept($0)) }) else {
        return
      }
      _ = connection.receive(patience: 1000)
      var answer = Message(Failure(.systemError, "lost"))
      answer["process"] = "stays"
      try? connection.send(answer)
      isOver.withLock(when: { $0 }, timeout: 20_000_000_000) { _ in }
      withExtendedLifetime(connection) {}
    }
    let start = Clock.monotonic
    let failure = #expect(throws: Failure.self) { try ControlClient.lock(found, patience: 1000) }
    #expect(failure?.message == "lost")
    #expect(Clock.monotonic - start < 10_000_000_000)
    isOver.withLock { $0 = true }
    server.join()
  }

  /// One byte at a time, each of them soon enough.
  @Test(.timeLimit(.minutes(1))) func aLineHasItsTimeAsAWhole() throws {
    let pipe = try Pipe()
    let sender = Lock(try System.duplicate(pipe.writing.rawValue))
    let receiver = Connection(pipe.intoReading())
    let isOver = Lock(false)
    let slow = try Thread.start("test-slow") {
      while !isOver.withLock({ $0 }) {
        sender.withLock { try? System.send($0, Buffer([UInt8(ascii: "a")]).bytes) }
        Clock.sleep(nanoseconds: 20_000_000)
      }
    }
    let start = Clock.monotonic
    #expect(receiver.receive(patience: 300) == nil)
    #expect(Clock.monotonic - start < 5_000_000_000)
    isOver.withLock { $0 = true }
    slow.join()
  }

  /// Two paths as long as they get, of letters that take three bytes each.
  @Test func theLongestPathsFitALine() throws {
    let long = String(repeating: "\u{430}", count: 2000)
    let message = Message("mount", ["vault": long, "mountpoint": long])
    #expect(message.line.count > 16384)
    let pipe = try Pipe()
    let sender = Connection(try System.duplicate(pipe.writing.rawValue))
    let receiver = Connection(pipe.intoReading())
    try sender.send(message)
    #expect(receiver.receive(patience: 1000) == message)
  }

  @Test func aNameIsRemovedOnce() throws {
    let socket = try ControlSocket.open(vault: "00ff", in: folder.path)
    socket.remove()
    let other = try ControlSocket.open(vault: "00ff", in: folder.path)
    #expect(other.path == socket.path)
    socket.remove()
    #expect((try? System.linkStatus(at: other.path)) != nil)
  }
}
