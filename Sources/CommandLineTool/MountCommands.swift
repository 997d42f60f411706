import Crypto
import POSIX
import Session
import Vault

enum InitCommand {
  static func run(_ arguments: Arguments) throws(Failure) {
    let path = arguments.positional[0]
    let source = try PasswordSource(arguments)
    let word = arguments.value("backup") ?? BackupPolicy.exclude.rawValue
    let backup = try BackupPolicy(word: word)
    do throws(VaultError) { try Vault.checkCreatable(at: path) } catch {
      throw Failure(error, vault: path)
    }
    let password = try source.read("New password for the vault", twice: true)
    do throws(VaultError) {
      try Vault.create(at: path, password: password, backup: backup)
    } catch { throw Failure(error, vault: path) }
    Output.note("the vault is made; without its password nobody can open it, so keep that safe")
  }
}

enum MountCommand {
  static func run(_ arguments: Arguments) throws(Failure) {
    let settings = try settings(arguments)
    let source = try PasswordSource(arguments)
    if arguments.has("foreground") {
      System.nameThread("coffre")
      // Started before there is any secret.
      let keeper = try Launcher.startKeeper(mountPoint: settings.mountPoint)
      let password = try source.read("Password for the vault", twice: false)
      try MountServer.serve(
        settings, password: password, keeper: keeper,
        onDamage: { Output.warning("damage: \($0)") }, onLocked: Output.note,
        onReady: { notices in
          notices.forEach(Output.warning)
          Output.note("mounted; Ctrl-C locks the vault")
          return true
        })
    } else {
      let password = try source.read("Password for the vault", twice: false)
      try Launcher.launch(settings, password: password).forEach(Output.warning)
    }
  }

  /// Checks all that can be without a password, so that nobody types one in vain.
  private static func settings(_ arguments: Arguments) throws(Failure) -> MountSettings {
    let path = arguments.positional[0]
    var settings = MountSettings(vault: path, mountPoint: arguments.positional[1])
    try settings.take(arguments.all("o").flatMap { $0.parts(between: ",") })
    if arguments.has("read-only") { settings.readOnly = true }
    if arguments.has("allow-other") { settings.allowOther = true }
    settings.acceptOlder = arguments.has("accept-older")
    settings.acceptJournalLoss = arguments.has("accept-journal-loss")
    settings.lockOnSuspend = arguments.has("lock-on-suspend")
    try setTimes(arguments, &settings)
    do throws(VaultError) {
      let vault = try Vault(path: path)
      _ = try vault.information()
      settings.vault = vault.path
    } catch { throw Failure(error, vault: path) }
    // Before the vault's lock is looked at: after a kill the dead mount goes away here.
    settings.mountPoint = try MountPaths.check(
      mountPoint: settings.mountPoint, vault: settings.vault)
    do throws(VaultError) {
      try Vault(path: settings.vault).checkFree(exclusive: !settings.readOnly)
    } catch {
      let failure = Failure(error, vault: path)
      guard !settings.readOnly, isForReading(error) else { throw failure }
      throw Failure(failure.code, failure.message, hint: "it may be read: see --read-only")
    }
    return settings
  }

  private static func setTimes(
    _ arguments: Arguments, _ settings: inout MountSettings
  ) throws(Failure) {
    settings.lockAfter = try Duration.seconds(arguments.value("lock-after") ?? "15m")
    settings.lockAtMost = try arguments.value("lock-at-most").flatMap { (text) throws(Failure) in
      try Duration.seconds(text)
    }
    guard let word = arguments.value("protection") else { return }
    guard let protection = Protection(rawValue: word) else {
      throw Failure(
        .usage, "there is no protection \(word)",
        hint: Protection.allCases.map(\.rawValue).joined(separator: " or "))
    }
    settings.protection = protection
    guard protection == .untilFirstUnlock else { return }
    for option in ["lock-after", "lock-at-most"] where arguments.has(option) {
      throw Failure(
        .usage, "--\(option) contradicts --protection until-first-unlock",
        hint: "no time locks a vault of that class")
    }
    settings.lockAfter = nil
  }

  /// Whether a vault can't be written where it is.
  private static func isForReading(_ error: VaultError) -> Bool {
    switch error {
    case .system(let errno, _): errno == .readOnly || errno == .accessDenied
    default: false
    }
  }
}

enum PasswdCommand {
  static func run(_ arguments: Arguments) throws(Failure) {
    let path = arguments.positional[0]
    let oldSource = try PasswordSource(arguments)
    let newSource = try PasswordSource(arguments, prefix: "new-")
    let vault: Vault
    do throws(VaultError) {
      vault = try Vault(path: path)
      _ = try vault.information()
    } catch { throw Failure(error, vault: path) }
    let old = try oldSource.read("Password for the vault", twice: false)
    let new = try newSource.read("New password", twice: true)
    if let mounted = try ControlClient.mounts(at: vault.path).first {
      try ControlClient.changePassword(mounted, old: old, new: new)
    } else {
      do throws(VaultError) {
        try vault.changePassword(old: old, new: new).forEach(Output.warning)
      } catch { throw Failure(error, vault: path) }
    }
    Output.note("the password is changed")
  }
}
