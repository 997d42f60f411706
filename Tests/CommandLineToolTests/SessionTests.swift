import Bytes
import Crypto
import POSIX
import TestKit
import Testing

@testable import Session

@Suite struct MessageTests {
  @Test(arguments: [
    "", "/a b", "a=b", "line\nfeed", "%41", "ümlaut", "🔐", "a\tb\u{7f}", "/plain/path-1_2.x,y",
  ])
  func aValueCrossesALineAsItIs(value: String) throws {
    let message = Message("verb", ["one": value, "two": "x"])
    #expect(message.line.last == UInt8(ascii: "\n"))
    #expect(message.line.count { $0 == UInt8(ascii: "\n") } == 1)
    #expect(Message(line: message.line.dropLast()) == message)
  }

  @Test(arguments: ["", " ", "verb name", "verb name=%4", "verb name=%zz", "verb name=%"])
  func whatIsNoMessageIsRefused(line: String) { #expect(Message(line: Array(line.utf8)) == nil) }

  @Test func aFailureCrossesALine() {
    let failure = Failure(.wrongPassword, "a sentence: with signs", hint: "do `this`")
    #expect(Message(line: Message(failure).line.dropLast())?.failure == failure)
    let plain = Failure(.noSpace, "none")
    #expect(Message(line: Message(plain).line.dropLast())?.failure == plain)
    #expect(Message("done").failure == nil)
  }

  @Test func settingsCrossALine() throws {
    var settings = MountSettings(vault: "/v 1", mountPoint: "/m\n2")
    #expect(MountSettings(settings.message(passwordCount: 3)) == settings)
    settings.readOnly = true
    settings.allowOther = true
    settings.acceptOlder = true
    settings.lockAfter = nil
    settings.extra = ["noexec", "max_read=4096"]
    #expect(MountSettings(settings.message(passwordCount: 3)) == settings)
  }

  @Test func aSecretCrossesBehindItsLine() throws {
    let pipe = try Pipe()
    let number = pipe.writing.rawValue
    let sender = Connection(try System.duplicate(number))
    let receiver = Connection(pipe.intoReading())
    try sender.send(Message("passwd", ["count": "6"]))
    try sender.send(secret("sec\nre"))
    try sender.send(Message("done"))
    #expect(receiver.receive(patience: 1000)?["count"] == "6")
    guard let got = receiver.receiveSecret(6, patience: 1000) else {
      Issue.record("no secret")
      return
    }
    #expect(bytes(got) == Array("sec\nre".utf8))
    #expect(receiver.receive(patience: 1000) == Message("done"))
    #expect(receiver.receive(patience: 10) == nil)
  }
}

@Suite struct MountTableTests {
  private func entry(_ line: String) -> MountTable.Entry? { MountTable.entry(Array(line.utf8)) }

  @Test func aLineOfMountinfoIsUnderstood() {
    let plain = entry("42 27 0:39 / /tmp/m rw,nosuid,relatime - fuse.coffre coffre rw,user_id=0")
    #expect(plain == .init(mountPoint: "/tmp/m", type: "fuse.coffre"))
    let tagged = entry("36 35 98:0 /r /mnt rw shared:1 master:2 - ext4 /dev/sda rw")
    #expect(tagged == .init(mountPoint: "/mnt", type: "ext4"))
    let escaped = entry(#"1 2 0:3 / /a\040b\011c\012d\134e rw - fuse.coffre coffre rw"#)
    #expect(escaped?.mountPoint == "/a b\tc\nd\\e")
  }

  /// A source or a mount point called `-` or `fuse.coffre` is not a type.
  @Test func onlyTheFieldBehindTheDashIsTheType() {
    let tricky = entry("1 2 0:3 / /fuse.coffre rw - tmpfs fuse.coffre rw")
    #expect(tricky?.type == "tmpfs")
    #expect(entry("1 2 0:3 / - rw - tmpfs none rw")?.type == "tmpfs")
  }

  @Test(arguments: ["", "1 2 3", "1 2 0:3 / /m rw", "1 2 0:3 / /m rw x -"])
  func whatIsNoLineIsPassedBy(line: String) { #expect(entry(line) == nil) }
}

@Suite struct MountPathTests {
  @Test func insideIsByWholeNames() {
    #expect(MountPaths.contains("/a/v", "/a/v"))
    #expect(MountPaths.contains("/a/v", "/a/v/x/y"))
    #expect(MountPaths.contains("/", "/a"))
    #expect(!MountPaths.contains("/a/v", "/a/vault"))
    #expect(!MountPaths.contains("/a/v", "/a"))
  }

  private func code(_ mountPoint: String, _ vault: String) -> ExitCode? {
    do throws(Failure) {
      _ = try MountPaths.check(mountPoint: mountPoint, vault: vault)
      return nil
    } catch { return error.code }
  }

  @Test func eachWrongMountPointHasItsCode() throws {
    let scratch = ScratchDirectory()
    for name in ["vault", "vault/inner", "mount", "full"] {
      try System.makeDirectory(scratch.path(name), mode: 0o700)
    }
    try writeFile(scratch.path("full/file"), [1])
    let vault = scratch.path("vault")
    #expect(code(scratch.path("mount"), vault) == nil)
    #expect(code(scratch.path("mount/"), vault) == nil)
    #expect(code(scratch.path("absent"), vault) == .badMountPoint)
    #expect(code(scratch.path("full/file"), vault) == .badMountPoint)
    #expect(code(scratch.path("full"), vault) == .badMountPoint)
    #expect(code(vault, vault) == .nested)
    #expect(code(scratch.path("vault/inner"), vault) == .nested)
    #expect(code(scratch.path("mount/../vault/inner"), vault) == .nested)
    #expect(code(scratch.path, vault) == .nested)
    #expect(code("/proc", vault) == .inUse)
  }
}

@Suite struct ExitCodeTests {
  @Test func everyCodeHasItsOwnMeaning() {
    #expect(Set(ExitCode.allCases.map(\.meaning)).count == ExitCode.allCases.count)
  }

  /// They are part of the interface: a changed number is a broken script.
  @Test func numbersStay() {
    let numbers = ExitCode.allCases.map(\.rawValue)
    #expect(numbers == [0] + Array(2...19))
    #expect(ExitCode.usage.rawValue == 2)
    #expect(ExitCode.wrongPassword.rawValue == 3)
    #expect(ExitCode.damagedConfiguration.rawValue == 4)
    #expect(ExitCode.missingConfiguration.rawValue == 7)
  }
}
