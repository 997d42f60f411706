import Crypto
import Engine
import TestKit
import Testing

@testable import CommandLineTool
@testable import POSIX
@testable import Session
@testable import Vault

/// Values from the disk, the kernel or another process, as odd as they get.
@Suite struct OutsideValuesTests {
  @Test func theLargestNumbersArePrinted() {
    #expect(JSON.unsigned(.max).text == "18446744073709551615")
    #expect(System.bytes(.max, 4096) == .max)
    #expect(System.bytes(3, 4096) == 12288)
  }

  @Test(arguments: [Int64.min, 0, .max]) func aStatusIsPrintedWhateverItSays(since: Int64) {
    let status = MountStatus(
      vault: "/v", folder: "1:2", mountPoint: "/m", identifier: "00ff", since: since, idle: .max,
      lockAfter: .max, readOnly: false, generation: .max, healedCopies: .max,
      unreadablePieces: 0, process: 1,
      problems: ["it is so"])
    #expect(StatusCommand.lines(status).last == "  problem: it is so")
    let json = StatusCommand.json(status).text
    #expect(json.contains("\"generation\": 18446744073709551615"))
    #expect(json.contains("\"problems\": [\"it is so\"]"))
  }

  @Test func aPathDoesNotRepaintTheTerminal() {
    let text = Output.visible("/v\u{1b}[2J\n\u{7f}\u{9b}\u{fc} \\x")
    #expect(text == "/v\\x1b[2J\\x0a\\x7f\\x9b\u{fc} \\x")
  }

  @Test func aFullQuotaIsNoSpace() {
    #expect(Failure(.overQuota, doing: "it").code == .noSpace)
    #expect(Failure(.noSpace, doing: "it").code == .noSpace)
    #expect(Failure(.ioError, doing: "it").code == .systemError)
  }

  /// Why nothing can be changed is told, not that the vault was mounted so.
  @Test func theReasonOfARefusalArrives() {
    let error = VaultError(EngineError.readOnly("another program has written to this vault"))
    #expect(
      Failure(error, vault: "v").message == "another program has written to this vault")
  }

  /// By its type the mount is found again; and names are durable no sooner than files.
  @Test(arguments: ["subtype=records", "dirsync"]) func whatWouldBreakAPromiseIsRefused(
    option: String
  ) {
    var settings = MountSettings(vault: "/v", mountPoint: "/m")
    let failure = #expect(throws: Failure.self) { try settings.take([option]) }
    #expect(failure?.code == .usage && failure?.hint != nil)
  }

  /// A program that keeps folders in step may bring a deleted mark back.
  @Test func aVaultWithContentsIsNotMadeAnewForAMark() throws {
    let disk = SimulatedDisk()
    for name in ["coffre.init", "coffre.conf", "coffre.conf.copy", "root.0", "root.1"] {
      _ = try disk.create(name)
    }
    for name in ["data", "meta-a", "meta-b", "journal"] { try disk.createFolder(name) }
    try Vault.checkEmpty(disk)
    _ = try disk.create("data/0001")
    #expect(throws: VaultError.isVault) { try Vault.checkEmpty(disk) }
  }
}
