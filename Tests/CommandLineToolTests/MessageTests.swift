import Crypto
import POSIX
@testable import CommandLineTool
@testable import FuseBridge
@testable import Session
import Testing

/// What goes through pipes and sockets arrives as it was.
@Suite struct MessageTests {
  @Test func settingsArriveWhole() throws {
    var settings = MountSettings(vault: "/a b/ü\n=%/v", mountPoint: "/m\t\\'\"")
    settings.lockOnSuspend = true
    settings.readOnly = true
    settings.acceptJournalLoss = true
    settings.lockAfter = nil
    settings.lockAtMost = 28800
    settings.protection = .untilFirstUnlock
    settings.extra = ["noexec", "max_read=4096"]
    let message = settings.message(passwordCount: 7)
    let line = message.line
    #expect(line.count(where: { $0 == UInt8(ascii: "\n") }) == 1)
    let arrived = try #require(Message(line: Array(line.dropLast())))
    #expect(arrived.count("password") == 7)
    #expect(MountSettings(arrived) == settings)
  }

  @Test func failuresArriveWhole() {
    for code in ExitCode.allCases {
      let hint = code == .usage ? nil : "try\nagain"
      let failure = Failure(code, "it's 50 % broken: a=b", hint: hint)
      #expect(Message(line: Array(Message(failure).line.dropLast()))?.failure == failure)
    }
  }

  @Test func statusArrivesWhole() {
    var status = MountStatus(
      vault: "/v v", folder: "1:2", mountPoint: "/m", identifier: "00ff", since: 1_700_000_000,
      idle: 3,
      lockAfter: 900, readOnly: false, generation: 12, healedCopies: 1,
      unreadablePieces: 3, process: 77,
      problems: ["one: 50 %", "two"])
    #expect(MountStatus(status.message) == status)
    status.lockAtMost = 28800
    status.left = 17
    status.protection = .untilFirstUnlock
    status.device = "0:57"
    status.lastLock = LastLock(
      vault: "/v v", mountPoint: "/m", identifier: "00ff", time: 1_700_000_000, cause: .atMost,
      problem: "50 % lost")
    #expect(MountStatus(status.message) == status)
    #expect(status.idleLeft == 897)
  }

  @Test(arguments: ["", "verb x", "verb x=%", "verb x=%4", "verb x=%zz"])
  func nonsenseIsNoMessage(line: String) { #expect(Message(line: Array(line.utf8)) == nil) }

  @Test func mountsAreRead() {
    let line = "36 35 98:0 / /mnt/a\\040b rw,noatime shared:1 master:2 - fuse.coffre coffre rw"
    #expect(
      MountTable.entry(Array(line.utf8))
        == MountTable.Entry(
          mount: 36, device: "98:0", mountPoint: "/mnt/a b", type: "fuse.coffre"))
    #expect(MountTable.entry(Array("36 35 98:0 / /mnt rw".utf8)) == nil)
    #expect(MountTable.entries().contains { $0.mountPoint == "/" })
  }

  @Test func nestingIsSeen() {
    #expect("/a".containsPath("/a") && "/a".containsPath("/a/b"))
    #expect("/".containsPath("/a") && !"/a".containsPath("/ab"))
  }

  @Test func jsonIsEscaped() {
    let values: [JSON] = [.string("\\\n\u{1}ü"), .null, .bool(true), .number(-1)]
    let json = JSON.object([("a\"b", .array(values))])
    #expect(json.text == #"{"a\"b": ["\\\n\u0001ü", null, true, -1]}"#)
  }
}
