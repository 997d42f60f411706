import Session

/// A verb of the command: what it takes, and what it does.
package struct Verb: Sendable {
  package let name: String
  /// The paths it takes, as in the help.
  package let operands: [String]
  package let summary: String
  package let options: [Option]
  /// Whether its paths may be no text, as names in a vault may be.
  var takesBytes = false
  let run: @Sendable (Arguments) throws(Failure) -> Void

  package static let all: [Verb] =
    [
      initialize, mount, lock, status, info, verify, passwd, backupPolicy, journal,
    ] + files + [help]

  package static func named(_ name: String) -> Verb? { all.first { $0.name == name } }

  static let json = Option("json", "print JSON, for programs")

  static func secret(_ prefix: String, _ what: String) -> [Option] {
    [
      Option("\(prefix)password-file", value: "FILE", "read \(what) from a file"),
      Option("\(prefix)password-fd", value: "N", "read \(what) from a descriptor"),
      Option("\(prefix)password-command", value: "CMD", "read \(what) from a command's output"),
    ]
  }

  private static let initialize = Verb(
    name: "init", operands: ["VAULT"], summary: "make a new vault in a new or empty folder",
    options: [
      Option("backup", value: "POLICY", "exclude (as it is), or include-ciphertext")
    ] + secret("", "the password"), run: InitCommand.run)

  private static let mount = Verb(
    name: "mount", operands: ["VAULT", "MOUNTPOINT"],
    summary: "show a vault's contents as a folder",
    options: [
      Option("foreground", "serve the mount in this process"),
      Option("read-only", "allow no change; several such mounts of one vault may exist"),
      Option("allow-other", "let other users in as well, as far as modes let them"),
      Option("lock-after", value: "TIME", "lock when unused for so long: 15m (as it is), never"),
      Option("lock-at-most", value: "TIME", "lock so long after the unlock, also while in use"),
      Option(
        "protection", value: "CLASS", "complete (as it is), or until-first-unlock: no time locks"),
      Option("lock-on-suspend", "lock before sleep, also what would stay open then"),
      Option("accept-older", "take an older or forked state of the vault as the true one"),
      Option("accept-journal-loss", "give up what a damaged journal can't tell, and go on"),
      Option(
        "o", value: "OPTION,...",
        "options of mount(8), fuse(8): ro, dev, ...; noguard, nobackupmarker"),
    ] + secret("", "the password"), run: MountCommand.run)

  private static let lock = Verb(
    name: "lock", operands: ["[VAULT|MOUNTPOINT]"],
    summary: "write everything, unmount, and forget the keys",
    options: [
      Option("all", "every vault this user has mounted"),
      Option("wait", value: "TIME", takesNone: true, "wait until no program uses it, or so long"),
      Option("force", "lock though programs use it; what they have open turns into errors"),
    ], run: LockCommand.run)

  private static let status = Verb(
    name: "status", operands: [], summary: "list the mounted vaults", options: [json],
    run: StatusCommand.run)

  private static let info = Verb(
    name: "info", operands: ["VAULT"], summary: "show what a vault tells without its password",
    options: [json], run: InfoCommand.run)

  private static let verify = Verb(
    name: "verify", operands: ["VAULT", "[PATH]"],
    summary: "read and authenticate everything, mounted or not",
    options: [
      Option("quick", "metadata only: names, attributes, maps; no contents"),
      Option("repair", "heal copies, give a name in lost+found to what has lost its own"),
      json,
    ] + secret("", "the password"), run: VerifyCommand.run)

  private static let passwd = Verb(
    name: "passwd", operands: ["VAULT"], summary: "change the password, mounted or not",
    options: secret("", "the old password") + secret("new-", "the new password"),
    run: PasswdCommand.run)

  private static let backupPolicy = Verb(
    name: "backup-policy", operands: ["VAULT", "[POLICY]"],
    summary: "tell or set whether backups pass it by: exclude, include-ciphertext", options: [],
    run: BackupCommand.run)

  private static let journal = Verb(
    name: "journal", operands: ["VAULT"],
    summary: "show what was done with a vault, mounted or not: its audit log",
    options: [
      Option("since", value: "TIME", "what is not older than 90s, 2h, 1d, or a date (UTC)"), json,
    ] + secret("", "the password"), run: JournalCommand.run)

  private static let help = Verb(
    name: "help", operands: ["[VERB|exit-codes]"], summary: "explain a verb, or the exit codes",
    options: [], run: HelpCommand.run)

  /// How many paths it takes.
  var operandCount: ClosedRange<Int> {
    let least = operands.count { !$0.hasPrefix("[") }
    return least...operands.count
  }
}
