import Bytes
import CommandLineTool
import Crypto
import POSIX
import Session
import TestKit
import Testing

/// What is taken as a password, and what is not.
@Suite struct PasswordTests {
  /// The bytes that are taken, or the failure.
  private func read(_ source: PasswordSource) throws -> [UInt8] {
    let secret = try source.read("", twice: false)
    let copy = Buffer(count: secret.count)
    copy.store(secret.bytes, at: 0)
    return copy.load(0..<copy.count)
  }

  private func read(command: String) throws -> String {
    String(decoding: try read(.command(command)), as: UTF8.self)
  }

  @Test func oneNewlineIsDropped() throws {
    #expect(try read(command: "printf 'abc\\n'") == "abc")
    #expect(try read(command: "printf 'abc\\n\\n'") == "abc\n")
    #expect(try read(command: "printf ' a\\r\\n'") == " a\r")
  }

  @Test func bytesAreTakenAsTheyAre() throws {
    #expect(try read(.command("printf '\\377\\200'")) == [0xff, 0x80])
  }

  @Test func theLongestIsTaken() throws {
    let most = PasswordSource.limit
    #expect(try read(.command("head -c \(most) /dev/zero | tr '\\0' x; echo")).count == most)
  }

  @Test(
    arguments: [
      "true", "echo", "printf 'a\\0b'", "head -c 1025 /dev/zero | tr '\\0' x", "yes",
      "echo abc; exit 3", "echo abc; kill -9 $$", "/no/such/program",
    ])
  func whatIsNoPasswordIsRefused(command: String) {
    #expect {
      try read(.command(command))
    } throws: { ($0 as? Failure)?.code == .badPasswordInput }
  }

  /// Also where the command ends badly because nobody reads the rest.
  @Test(arguments: ["head -c 1025 /dev/zero | tr '\\0' x", "yes", "yes x | head -c 100000; false"])
  func whatIsTooLongIsNamed(command: String) {
    #expect {
      try read(.command(command))
    } throws: { ($0 as? Failure)?.message == "the password has more than 1024 bytes" }
  }

  @Test func aMissingFileIsRefused() {
    #expect {
      try read(.file("/no/such/file"))
    } throws: { ($0 as? Failure)?.code == .badPasswordInput }
  }

  @Test func oneSourceIsEnough() throws {
    let verb = try #require(Verb.named("passwd"))
    let words = ["--password-file", "a", "--password-fd", "3", "--new-password-file", "b"]
    let arguments = try Arguments(parsing: words, options: verb.options)
    #expect(throws: Failure.self) { try PasswordSource(arguments) }
    #expect(try PasswordSource(arguments, prefix: "new-") == .file("b"))
  }
}
