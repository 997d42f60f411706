import Crypto
import Format
import POSIX
import Session
import Vault
import Volume

/// `coffre journal`: what was done with a vault, when, by whom.
enum JournalCommand {
  static func run(_ arguments: Arguments) throws(Failure) {
    let source = try PasswordSource(arguments)
    let since = try arguments.value("since").map { (text) throws(Failure) in
      try CalendarTime.since(text, now: Clock.now)
    }
    let vault: Vault
    do throws(VaultError) {
      vault = try Vault(path: arguments.positional[0])
      _ = try vault.information()
    } catch { throw Failure(error, vault: arguments.positional[0]) }
    let mounted = try ControlClient.mounts(at: vault.path).first
    let report: AuditReport
    if let mounted {
      report = try ControlClient.journal(mounted, since: since ?? 0)
    } else {
      do throws(VaultError) { try vault.checkFree(exclusive: false) } catch {
        throw Failure(error, vault: vault.path)
      }
      let password = try source.read("Password for the vault", twice: false)
      report = try AuditReport.read(vault, password: password, since: since ?? 0)
    }
    if arguments.has("json") {
      Output.line(json(report, vault.path, mounted?.status.mountPoint).text)
    } else {
      show(report, isWhole: since == nil)
    }
    guard report.problems.isEmpty else {
      throw Failure(
        .damagedStore, "the audit log is not whole: \(report.problems.joined(separator: "; "))")
    }
  }

  private static func show(_ report: AuditReport, isWhole: Bool) {
    for entry in report.entries { Output.line(line(entry)) }
    for entry in report.notes { Output.line(line(entry)) }
    if report.isOlder {
      Output.warning("the vault is older than, or a fork of, what this machine has seen of it")
    }
    let dropped = report.dropped == 0 ? "" : ", the first \(report.dropped) dropped"
    let shown = isWhole ? "" : ", \(report.entries.count) of them shown"
    let waiting = report.notes.isEmpty ? "" : "; \(report.notes.count) more wait to be taken over"
    let noun = report.count == 1 ? "entry" : "entries"
    Output.line("\(report.count) \(noun)\(dropped)\(shown)\(waiting); sum \(report.chain)")
  }

  static func line(_ entry: AuditEntry) -> String {
    let number = entry.number == 0 ? "-" : String(entry.number)
    let padding = String(repeating: " ", count: max(0, 6 - number.count))
    let program = VerifyReport.Item.shown(entry.program)
    return "\(padding)\(number)  \(CalendarTime.short(entry.time))  uid \(entry.user)  \(program)  "
      + entry.event.sentence + (entry.isNoted ? " (noted outside of the vault)" : "")
  }

  private static func json(
    _ report: AuditReport, _ vault: String, _ mountPoint: String?
  ) -> JSON {
    .object([
      ("vault", .string(vault)), ("mountPoint", mountPoint.map { .string($0) } ?? .null),
      ("count", .unsigned(report.count)), ("dropped", .unsigned(report.dropped)),
      ("sum", .string(report.chain)), ("older", .bool(report.isOlder)),
      ("problems", .array(report.problems.map { .string($0) })),
      ("entries", .array(report.entries.map(json))), ("waiting", .array(report.notes.map(json))),
    ])
  }

  static func json(_ entry: AuditEntry) -> JSON {
    let members: [(String, JSON)] = [
      ("number", entry.number == 0 ? .null : .unsigned(entry.number)),
      ("time", .string(CalendarTime.text(entry.time))), ("user", .number(Int64(entry.user))),
      ("program", .string(VerifyReport.Item.shown(entry.program))),
      ("noted", .bool(entry.isNoted)), ("event", .string(entry.event.word)),
    ]
    return .object(members + entry.event.details)
  }
}
