import POSIX
import Session
import Vault

enum StatusCommand {
  static func run(_ arguments: Arguments) throws(Failure) {
    let sight = ControlClient.look()
    let mounts = sight.mounts.map(\.status)
    let holders = Holder.find(of: mounts)
    if arguments.has("json") {
      Output.line(
        JSON.array(mounts.map { json($0, holders[$0.device] ?? []) } + sight.locked.map(json)).text)
    } else {
      if mounts.isEmpty && sight.silent.isEmpty { Output.line("no vault is mounted") }
      mounts.flatMap { lines($0, holders[$0.device] ?? []) }.forEach(Output.line)
      sight.locked.map(line).forEach(Output.line)
    }
    if let silent = sight.silent.first { throw silent.failure }
  }

  static func lines(_ mount: MountStatus, _ holders: [Holder] = []) -> [String] {
    let healed = mount.healedCopies == 0 ? "" : ", \(mount.healedCopies) damaged copies made good"
    let damage =
      mount.unreadablePieces == 0
      ? []
      : ["  damage: \(mount.unreadablePieces) stored pieces could not be read; see `coffre verify`"]
    let users = holders.isEmpty ? [] : ["  used by \(holders.map(\.name).joined(separator: ", "))"]
    return [
      "\(mount.vault) on \(mount.mountPoint)\(mount.readOnly ? ", read-only" : "")",
      "  mounted for \(rough(age(mount.since))), unused for \(rough(mount.idle)), \(limits(mount))",
      "  root generation \(mount.generation), process \(mount.process)\(healed)",
    ] + users + mount.problems.map { "  problem: \($0)" } + damage
      + (mount.lastLock.map { ["  last lock: \(told($0))"] } ?? [])
  }

  private static func limits(_ mount: MountStatus) -> String {
    guard mount.protection == .complete else { return "protected \(mount.protection.rawValue)" }
    var limits: [String] = []
    if let limit = mount.lockAfter, let left = mount.idleLeft {
      limits.append("after \(Duration.text(limit)) without use (\(rough(left)) left)")
    }
    if let left = mount.left { limits.append("in \(rough(left)) at the latest") }
    return "locks itself " + (limits.isEmpty ? "never" : limits.joined(separator: ", "))
  }

  /// A vault that is not mounted any more.
  static func line(_ lock: LastLock) -> String {
    "\(lock.vault) is locked; last lock: \(told(lock))"
  }

  private static func told(_ lock: LastLock) -> String {
    let time = "\(rough(age(lock.time))) ago"
    // Nobody was there to say when a process was killed.
    let when = lock.cause == .killed ? "mounted \(time)" : time
    return "\(when), \(lock.cause.sentence)" + (lock.problem.map { "; problem: \($0)" } ?? "")
  }

  private static func age(_ time: Int64) -> UInt64 {
    let (age, overflow) = Clock.realtime.seconds.subtractingReportingOverflow(time)
    return overflow ? 0 : UInt64(max(0, age))
  }

  private static func rough(_ seconds: UInt64) -> String {
    switch seconds {
    case ..<120: "\(seconds)s"
    case ..<7200: "\(seconds / 60)m"
    case ..<172_800: "\(seconds / 3600)h"
    default: "\(seconds / 86400)d"
    }
  }

  static func json(_ mount: MountStatus, _ holders: [Holder] = []) -> JSON {
    .object([
      ("vault", .string(mount.vault)), ("mountPoint", .string(mount.mountPoint)),
      ("id", .string(mount.identifier)), ("since", .number(mount.since)),
      ("idleSeconds", .unsigned(mount.idle)),
      ("lockAfterSeconds", mount.lockAfter.map { .unsigned($0) } ?? .null),
      ("idleSecondsLeft", mount.idleLeft.map { .unsigned($0) } ?? .null),
      ("lockAtMostSeconds", mount.lockAtMost.map { .unsigned($0) } ?? .null),
      ("atMostSecondsLeft", mount.left.map { .unsigned($0) } ?? .null),
      ("protection", .string(mount.protection.rawValue)),
      ("readOnly", .bool(mount.readOnly)), ("generation", .unsigned(mount.generation)),
      ("healedCopies", .number(Int64(mount.healedCopies))),
      ("unreadablePieces", .number(Int64(mount.unreadablePieces))),
      ("process", .number(Int64(mount.process))),
      ("problems", .array(mount.problems.map { .string($0) })),
      ("holders", .array(holders.map(json))), ("mounted", .bool(true)),
      ("lastLock", mount.lastLock.map(told) ?? .null),
    ])
  }

  /// Without paths: a program may keep what it reads.
  private static func json(_ holder: Holder) -> JSON {
    .object([
      ("process", .number(Int64(holder.process))), ("command", .string(holder.command)),
      ("uses", .array(holder.uses.map { .string($0.rawValue) })),
    ])
  }

  static func json(_ lock: LastLock) -> JSON {
    .object([
      ("vault", .string(lock.vault)), ("mountPoint", .string(lock.mountPoint)),
      ("id", .string(lock.identifier)), ("mounted", .bool(false)), ("lastLock", told(lock)),
    ])
  }

  private static func told(_ lock: LastLock) -> JSON {
    .object([
      ("cause", .string(lock.cause.rawValue)), ("time", .number(lock.time)),
      ("problem", lock.problem.map { .string($0) } ?? .null),
    ])
  }
}

enum InfoCommand {
  static func run(_ arguments: Arguments) throws(Failure) {
    let path = arguments.positional[0]
    let vault: Vault
    let information: VaultInformation
    let backup: BackupPolicy
    do throws(VaultError) {
      vault = try Vault(path: path)
      information = try vault.information()
      backup = try vault.backupPolicy()
    } catch { throw Failure(error, vault: path) }
    let mounted = try ControlClient.mounts(at: vault.path).map(\.status.mountPoint)
    if arguments.has("json") {
      return Output.line(json(vault.path, information, backup, mounted).text)
    }
    Output.line("vault           \(vault.path)")
    Output.line("id              \(information.identifier)")
    Output.line("format          \(information.formatVersion)")
    Output.line("cipher          AES-256-GCM, 4096-byte chunks")
    Output.line("password        Argon2id, 64 MiB, 3 passes, 4 lanes")
    Output.line("key slots       \(information.usedSlots) of \(information.slots) in use")
    Output.line("configuration   generation \(information.generation)")
    if information.copiesDiffer {
      Output.line("                one copy is damaged or older; the next mount makes it good")
    }
    Output.line("backup          \(backup.rawValue)")
    Output.line(
      "mounted         \(mounted.isEmpty ? "no" : "on " + mounted.joined(separator: ", "))")
  }

  private static func json(
    _ path: String, _ information: VaultInformation, _ backup: BackupPolicy, _ mounted: [String]
  ) -> JSON {
    .object([
      ("vault", .string(path)), ("id", .string(information.identifier)),
      ("formatVersion", .number(Int64(information.formatVersion))),
      ("usedKeySlots", .number(Int64(information.usedSlots))),
      ("keySlots", .number(Int64(information.slots))),
      ("configurationGeneration", .unsigned(information.generation)),
      ("configurationCopiesDiffer", .bool(information.copiesDiffer)),
      ("backup", .string(backup.rawValue)),
      ("mountPoints", .array(mounted.map { .string($0) })),
    ])
  }
}

/// JSON to be printed, RFC 8259; members stay in order.
enum JSON {
  case null
  case bool(Bool)
  case number(Int64)
  case unsigned(UInt64)
  case string(String)
  case array([JSON])
  case object([(String, JSON)])

  var text: String {
    switch self {
    case .null: "null"
    case .bool(let value): value ? "true" : "false"
    case .number(let value): String(value)
    case .unsigned(let value): String(value)
    case .string(let value): Self.quoted(value)
    case .array(let values): "[" + values.map(\.text).joined(separator: ", ") + "]"
    case .object(let members):
      "{" + members.map { Self.quoted($0.0) + ": " + $0.1.text }.joined(separator: ", ") + "}"
    }
  }

  private static func quoted(_ value: String) -> String {
    var text = "\""
    for scalar in value.unicodeScalars {
      switch scalar {
      case "\"": text += "\\\""
      case "\\": text += "\\\\"
      case "\n": text += "\\n"
      case "\t": text += "\\t"
      // The second kind may be taken for the start of a terminal's command.
      case _ where scalar.value < 0x20 || (0x7f...0x9f).contains(scalar.value):
        let digits = String(scalar.value, radix: 16)
        text += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
      default: text.unicodeScalars.append(scalar)
      }
    }
    return text + "\""
  }
}
