import Bytes
import POSIX
import TestKit
import Testing

@testable import Vault

/// The count of wrong passwords.
@Suite struct FailedAttemptsTests {
  private let folder = ScratchDirectory()
  private var path: String { folder.path("aa.attempts") }

  @Test func theyAreCountedFromTheFirst() throws {
    #expect(FailedAttempts.read(path) == nil)
    FailedAttempts.note(path, at: 1_700_000_000)
    let one = try #require(FailedAttempts.read(path))
    #expect(one.count == 1 && one.first == 1_700_000_000)
    #expect(one.sentence == "1 failed attempt to open this vault, at \(Clock.text(1_700_000_000))")
    FailedAttempts.note(path, at: 1_700_000_999)
    let two = try #require(FailedAttempts.read(path))
    #expect(two.count == 2 && two.first == 1_700_000_000)
    let since = Clock.text(1_700_000_000)
    #expect(two.sentence == "2 failed attempts to open this vault since \(since)")
    // What came after it was shown is kept.
    one.forget(path)
    #expect(FailedAttempts.read(path) == two)
    two.forget(path)
    #expect(FailedAttempts.read(path) == nil)
  }

  /// Several guess at once, and none is lost.
  @Test func attemptsAtTheSameTimeAreAllCounted() throws {
    let path = path
    let threads = try (0..<8).map { _ in
      try Thread.start("test-attempt") { for _ in 0..<50 { FailedAttempts.note(path) } }
    }
    for thread in threads { thread.join() }
    #expect(FailedAttempts.read(path)?.count == 400)
  }

  /// Nobody fills the disk with guesses.
  @Test func theFileHasALimit() throws {
    let line = Array("1700000000\n".utf8)
    try writeFile(path, Array([[UInt8]](repeating: line, count: FailedAttempts.most).joined()))
    let before = try System.linkStatus(at: path).size
    FailedAttempts.note(path)
    #expect(try System.linkStatus(at: path).size == before)
    #expect(FailedAttempts.read(path)?.sentence.hasPrefix("10000 or more failed") == true)
  }

  @Test(arguments: ["x\n", "-1\n", "99999999999999999999\n", "\0\u{1b}[2J\n"])
  func whatIsNoTimeIsNotShown(text: String) throws {
    let attempts = try #require(FailedAttempts(Array(text.utf8)))
    #expect(attempts.sentence == "1 failed attempt to open this vault, at an unknown time")
  }

  @Test func nothingIsNoAttempt() {
    #expect(FailedAttempts([]) == nil && FailedAttempts([0x0a, 0x0a]) == nil)
  }

  @Test func timesAreWrittenForPeople() {
    #expect(Clock.text(1_700_000_000).hasPrefix("2023-11-1"))
    #expect(Clock.text(1_700_000_000).count == 16)
    #expect(Clock.text(.max) == "\(Int64.max) seconds after 1970")
  }
}
