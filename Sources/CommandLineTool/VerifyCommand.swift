import Crypto
import POSIX
import Session
import Vault
import Volume

enum VerifyCommand {
  static func run(_ arguments: Arguments) throws(Failure) {
    let source = try PasswordSource(arguments)
    let vault: Vault
    do throws(VaultError) {
      vault = try Vault(path: arguments.positional[0])
      _ = try vault.information()
    } catch { throw Failure(error, vault: arguments.positional[0]) }
    let path = arguments.positional.count > 1 ? arguments.positional[1] : nil
    if path != nil && arguments.has("repair") {
      throw Failure(.usage, "--repair is for the whole vault, without a path in it")
    }
    let mounted = try ControlClient.mounts(at: vault.path).first
    let report = try check(vault, mounted, path, arguments, source)
    if arguments.has("json") {
      Output.line(json(report, vault.path, path, mounted?.status.mountPoint, arguments).text)
    } else {
      show(report, isWhole: path == nil)
    }
    report.notices.forEach(Output.warning)
    try end(report)
  }

  private static func check(
    _ vault: Vault, _ mounted: ControlClient.Found?, _ path: String?, _ arguments: Arguments,
    _ source: PasswordSource
  ) throws(Failure) -> VerifyReport {
    let isQuick = arguments.has("quick")
    let repairs = arguments.has("repair")
    let bar = ProgressBar()
    defer { bar.clear() }
    if let mounted {
      guard !repairs else {
        throw Failure(
          .inUse, "the vault is mounted at \(mounted.status.mountPoint), so it is not repaired",
          hint: "lock it first with `coffre lock`; without --repair it is checked as it is")
      }
      return try ControlClient.verify(mounted, path: path, isQuick: isQuick) { bar.show($0) }
    }
    do throws(VaultError) { try vault.checkFree(exclusive: repairs) } catch {
      throw Failure(error, vault: vault.path)
    }
    let password = try source.read("Password for the vault", twice: false)
    let options = Verification.options(path: path, isQuick: isQuick, repairs: repairs)
    return try Verification.run(vault, password: password, options) { progress in
      bar.show(progress)
      return true
    }
  }

  private static func show(_ report: VerifyReport, isWhole: Bool) {
    for item in report.items { Output.line("damage: \(item.line)") }
    if report.omitted > 0 { Output.line("damage: \(report.omitted) more are not listed") }
    if report.isOlder {
      Output.warning("the vault is older than, or a fork of, what this machine has seen of it")
    }
    if let failure = report.repairFailure { Output.warning("not all is repaired: \(failure)") }
    if isWhole && !report.isCompared {
      Output.warning("names and maps were not compared: the vault was changed all the while")
    }
    let what = [
      count(report.files, "file"), count(report.directories, "directory", "directories"),
      count(report.chunks, "chunk"), count(report.pages, "metadata page"),
    ].joined(separator: ", ")
    let end =
      switch report.outcome {
      case .clean: "no damage"
      case .repaired: "\(pieces(report)) damaged, all repaired"
      case .damaged: "\(pieces(report)) damaged"
      }
    Output.line("checked \(what): \(end)")
  }

  private static func pieces(_ report: VerifyReport) -> String {
    count(UInt64(report.items.count) + report.omitted, "piece")
  }

  private static func count(_ number: UInt64, _ one: String, _ many: String? = nil) -> String {
    "\(number) \(number == 1 ? one : many ?? one + "s")"
  }

  /// What was found is the answer, not a failure of the command; its number says it.
  private static func end(_ report: VerifyReport) throws(Failure) {
    let code: ExitCode =
      switch report.outcome {
      case .clean: report.isOlder ? .older : .success
      case .repaired: .damageRepaired
      case .damaged: .damageFound
      }
    try Output.check()
    if code != .success { System.exit(code.rawValue) }
  }

  // MARK: - JSON

  private static func json(
    _ report: VerifyReport, _ vault: String, _ path: String?, _ mountPoint: String?,
    _ arguments: Arguments
  ) -> JSON {
    var members: [(String, JSON)] = []
    members.append(("vault", .string(vault)))
    members.append(("path", string(path)))
    members.append(("mountPoint", string(mountPoint)))
    members.append(("quick", .bool(arguments.has("quick"))))
    members.append(("repair", .bool(arguments.has("repair"))))
    members.append(("outcome", .string(report.outcome.rawValue)))
    members.append(("compared", .bool(report.isCompared)))
    members.append(("older", .bool(report.isOlder)))
    members.append(("files", number(report.files)))
    members.append(("directories", number(report.directories)))
    members.append(("others", number(report.others)))
    members.append(("chunks", number(report.chunks)))
    members.append(("metadataPages", number(report.pages)))
    members.append(("omitted", number(report.omitted)))
    members.append(("repairFailure", string(report.repairFailure)))
    members.append(("damages", .array(report.items.map(json))))
    return .object(members)
  }

  private static func json(_ item: VerifyReport.Item) -> JSON {
    let offset = item.slot.map { UInt64($0) * 4096 }
    let last = item.bytes.map { $0.upperBound - 1 }
    var members: [(String, JSON)] = []
    members.append(("kind", .string(item.kind)))
    members.append(("objects", .array(item.objects.map { .string($0) })))
    members.append(("slot", number(item.slot.map { UInt64($0) })))
    members.append(("offset", number(offset)))
    members.append(("type", string(item.noun)))
    members.append(("path", string(item.path)))
    members.append(("inode", number(item.inode)))
    members.append(("firstByte", number(item.bytes?.lowerBound)))
    members.append(("lastByte", number(last)))
    members.append(("detail", string(item.detail)))
    members.append(("repaired", .bool(item.isRepaired)))
    return .object(members)
  }

  private static func number(_ value: UInt64?) -> JSON {
    value.map { .number(Int64(clamping: $0)) } ?? .null
  }

  private static func string(_ value: String?) -> JSON { value.map { .string($0) } ?? .null }
}
