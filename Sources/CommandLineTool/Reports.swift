import POSIX
import Session
import Vault

enum StatusCommand {
  static func run(_ arguments: Arguments) throws(Failure) {
    let sight = ControlClient.look()
    let mounts = sight.mounts.map(\.status)
    if arguments.has("json") {
      Output.line(JSON.array(mounts.map(json)).text)
    } else if mounts.isEmpty && sight.silent.isEmpty {
      Output.line("no vault is mounted")
    } else {
      mounts.flatMap(lines).forEach(Output.line)
    }
    if let silent = sight.silent.first { throw silent.failure }
  }

  static func lines(_ mount: MountStatus) -> [String] {
    let (age, overflow) = Clock.realtime.seconds.subtractingReportingOverflow(mount.since)
    let mounted = overflow ? 0 : UInt64(max(0, age))
    let after = mount.lockAfter.map { "after \(Duration.text($0))" } ?? "never"
    let healed = mount.healedCopies == 0 ? "" : ", \(mount.healedCopies) damaged copies made good"
    let damage =
      mount.unreadablePieces == 0
      ? []
      : ["  damage: \(mount.unreadablePieces) stored pieces could not be read; see `coffre verify`"]
    return [
      "\(mount.vault) on \(mount.mountPoint)\(mount.readOnly ? ", read-only" : "")",
      "  mounted for \(rough(mounted)), unused for \(rough(mount.idle)), locks itself \(after)",
      "  root generation \(mount.generation), process \(mount.process)\(healed)",
    ] + mount.problems.map { "  problem: \($0)" } + damage
  }

  private static func rough(_ seconds: UInt64) -> String {
    switch seconds {
    case ..<120: "\(seconds)s"
    case ..<7200: "\(seconds / 60)m"
    case ..<172_800: "\(seconds / 3600)h"
    default: "\(seconds / 86400)d"
    }
  }

  static func json(_ mount: MountStatus) -> JSON {
    .object([
      ("vault", .string(mount.vault)), ("mountPoint", .string(mount.mountPoint)),
      ("id", .string(mount.identifier)), ("since", .number(mount.since)),
      ("idleSeconds", .unsigned(mount.idle)),
      ("lockAfterSeconds", mount.lockAfter.map { .unsigned($0) } ?? .null),
      ("readOnly", .bool(mount.readOnly)), ("generation", .unsigned(mount.generation)),
      ("healedCopies", .number(Int64(mount.healedCopies))),
      ("unreadablePieces", .number(Int64(mount.unreadablePieces))),
      ("process", .number(Int64(mount.process))),
      ("problems", .array(mount.problems.map { .string($0) })),
    ])
  }
}

enum InfoCommand {
  static func run(_ arguments: Arguments) throws(Failure) {
    let path = arguments.positional[0]
    let vault: Vault
    let information: VaultInformation
    do throws(VaultError) {
      vault = try Vault(path: path)
      information = try vault.information()
    } catch { throw Failure(error, vault: path) }
    let mounted = try ControlClient.mounts(at: vault.path).map(\.status.mountPoint)
    if arguments.has("json") {
      return Output.line(json(vault.path, information, mounted).text)
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
    Output.line(
      "mounted         \(mounted.isEmpty ? "no" : "on " + mounted.joined(separator: ", "))")
  }

  private static func json(
    _ path: String, _ information: VaultInformation, _ mounted: [String]
  ) -> JSON {
    .object([
      ("vault", .string(path)), ("id", .string(information.identifier)),
      ("formatVersion", .number(Int64(information.formatVersion))),
      ("usedKeySlots", .number(Int64(information.usedSlots))),
      ("keySlots", .number(Int64(information.slots))),
      ("configurationGeneration", .unsigned(information.generation)),
      ("configurationCopiesDiffer", .bool(information.copiesDiffer)),
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
