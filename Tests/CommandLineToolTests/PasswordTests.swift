import Bytes
import CommandLineTool
import Crypto
import POSIX
import Session
import TestKit
import Testing

@Suite struct PasswordTests {
  private static let limit = PasswordSource.limit

  /// The password read, or why it was not.
  private func read(_ source: PasswordSource) -> Result<[UInt8], Failure> {
    do throws(Failure) { return .success(bytes(try source.read("Password", twice: true))) } catch {
      return .failure(error)
    }
  }

  private static let taken: [([UInt8], [UInt8])] = [
    (Array("secret\n".utf8), Array("secret".utf8)),
    (Array("secret".utf8), Array("secret".utf8)),
    (Array("secret\n\n".utf8), Array("secret\n".utf8)),
    (Array("secret\r\n".utf8), Array("secret\r".utf8)),
    (Array(" a b \n".utf8), Array(" a b ".utf8)),
    ([0xff, 0xfe, 0x0a], [0xff, 0xfe]),
    (Array("e\u{301}".utf8), Array("e\u{301}".utf8)),
    (Array(repeating: 0x61, count: limit), Array(repeating: 0x61, count: limit)),
    (Array(repeating: 0x61, count: limit) + [0x0a], Array(repeating: 0x61, count: limit)),
  ]

  private static let refused: [[UInt8]] = [
    [], [0x0a], [0], [0x61, 0, 0x62], [0x61, 0, 0x0a], Array(repeating: 0x61, count: limit + 1),
    Array(repeating: 0x61, count: limit + 1) + [0x0a],
    Array(repeating: 0x61, count: 100_000),
  ]

  @Test(arguments: taken) func bytesAreTakenAsTheyAreButOneNewline(
    input: [UInt8], password: [UInt8]
  ) throws {
    let scratch = ScratchDirectory()
    try writeFile(scratch.path("password"), input)
    #expect(read(.file(scratch.path("password"))) == .success(password))
    #expect(read(.command("cat '\(scratch.path("password"))'")) == .success(password))
  }

  @Test(arguments: refused) func emptyZeroAndOverlongAreRefused(input: [UInt8]) throws {
    let scratch = ScratchDirectory()
    try writeFile(scratch.path("password"), input)
    for source in [
      PasswordSource.file(scratch.path("password")),
      .command("cat '\(scratch.path("password"))'"),
    ] {
      guard case .failure(let failure) = read(source) else {
        Issue.record("\(input.count) bytes were taken")
        continue
      }
      #expect(failure.code == .badPasswordInput)
    }
  }

  @Test func aDescriptorIsReadToItsEnd() throws {
    let pipe = try Pipe()
    try System.send(pipe.writing, Buffer(Array("in ".utf8)).bytes)
    try System.send(pipe.writing, Buffer(Array("pieces\n".utf8)).bytes)
    let reading = pipe.intoReading()
    #expect(read(.descriptor(reading.rawValue)) == .success(Array("in pieces".utf8)))
  }

  @Test(arguments: ["false", "exit 3", "printf secret; exit 1", "kill -9 $$", "true", ""])
  func aCommandThatFailsOrSaysNothingIsRefused(command: String) {
    guard case .failure(let failure) = read(.command(command)) else {
      Issue.record("`\(command)` gave a password")
      return
    }
    #expect(failure.code == .badPasswordInput)
  }

  @Test func aSourceThatIsNotThereIsRefused() {
    for source in [PasswordSource.file("/nonexistent/file"), .file("/tmp"), .descriptor(987)] {
      guard case .failure(let failure) = read(source) else {
        Issue.record("\(source) gave a password")
        continue
      }
      #expect(failure.code == .badPasswordInput)
    }
  }

  @Test func oneSourceIsEnough() throws {
    let verb = try #require(Verb.named("passwd"))
    let both = ["v", "--password-file=a", "--new-password-fd=3"]
    let arguments = try Arguments(parsing: both, options: verb.options)
    #expect(try PasswordSource(arguments) == .file("a"))
    #expect(try PasswordSource(arguments, prefix: "new-") == .descriptor(3))
    for line in [
      ["--password-file=a", "--password-fd=3"], ["--password-fd=x"], ["--password-fd=-1"],
    ] {
      let arguments = try Arguments(parsing: line, options: verb.options)
      #expect { try PasswordSource(arguments) } throws: { ($0 as? Failure)?.code == .usage }
    }
  }
}
