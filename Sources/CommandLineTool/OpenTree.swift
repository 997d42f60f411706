import Crypto
import FileTree
import Format
import POSIX
import Session
import Vault
import Volume

/// The tree of a vault, for a verb to work on: of a mounted vault through its mount, so that one
/// process alone writes to it; else the vault is opened for the moment.
struct OpenTree {
  let top: any Folder
  /// The vault's own folder, and the top of its mount: copied into the vault, they would not end.
  let excluded: Set<String>
  let isMounted: Bool
  /// Writes down in the audit log that contents left the vault: files, and bytes.
  private let noteExport: (UInt64, UInt64) -> Void

  /// Opens it, does the work, and closes it again: what the work has changed lasts afterwards.
  ///
  /// Whoever only reads takes the vault's lock shared, and changes nothing of it. `cleansUp` says
  /// that a signal may find something that is not whole, here or elsewhere.
  static func with<R>(
    _ arguments: Arguments, changes: Bool, cleansUp: Bool = true,
    _ body: (OpenTree) throws(Failure) -> R
  ) throws(Failure) -> R {
    let path = arguments.positional[0]
    let source = try PasswordSource(arguments)
    let vault: Vault
    do throws(VaultError) {
      vault = try Vault(path: path)
      _ = try vault.information()
    } catch { throw Failure(error, vault: path) }
    var excluded: Set<String> = []
    if let status = try? System.status(at: vault.path) { excluded.insert(status.identity) }
    if let mounted = try ControlClient.mounts(at: vault.path).first {
      guard !changes || !mounted.status.readOnly else {
        throw Failure(
          .inUse, "the vault is mounted read-only at \(mounted.status.mountPoint)",
          hint: "lock it first with `coffre lock`")
      }
      let top = try ControlClient.tree(of: mounted)
      if let identity = top.identity { excluded.insert(identity) }
      if cleansUp { Interruption.watch() }
      return try body(
        OpenTree(top: top, excluded: excluded, isMounted: true) { files, bytes in
          ControlClient.noteExport(mounted, files: files, bytes: bytes)
        })
    }
    do throws(VaultError) { try vault.checkFree(exclusive: changes) } catch {
      throw Failure(error, vault: path)
    }
    let password = try source.read("Password for the vault", twice: false)
    // After the password: until then a signal ends the process, as it should.
    if cleansUp { Interruption.watch() }
    let opened = try open(vault, path, password, changes: changes)
    let tree = OpenTree(
      top: VolumeFolder(opened.volume), excluded: excluded, isMounted: false
    ) { files, bytes in
      opened.audit.record(.exported(.get, files: files, bytes: bytes))
    }
    return try use(tree, opened, body)
  }

  /// Writes down how much was handed out, which is for work that does so to do at its end.
  func note(_ exported: Exported) {
    let (files, bytes) = exported.counts
    if files > 0 || bytes > 0 { noteExport(files, bytes) }
  }

  private static func open(
    _ vault: Vault, _ path: String, _ password: borrowing SecretBytes, changes: Bool
  ) throws(Failure) -> OpenVault {
    System.wipeFreedMemory()
    var options = VaultOptions()
    options.readOnly = !changes
    let opened: OpenVault
    do throws(VaultError) { opened = try vault.open(password: password, options: options) } catch {
      throw Failure(error, vault: path)
    }
    opened.notices.forEach(Output.warning)
    opened.forgetFailedAttempts()
    guard !changes || !opened.volume.isReadOnly else {
      try? opened.close()
      throw Failure(VaultError.noSpace, vault: path)
    }
    return opened
  }

  /// What the work failed with counts more than what the end did.
  private static func use<R>(
    _ tree: OpenTree, _ vault: OpenVault, _ body: (OpenTree) throws(Failure) -> R
  ) throws(Failure) -> R {
    let result: R
    do throws(Failure) { result = try body(tree) } catch {
      try? vault.close()
      throw error
    }
    do throws(VolumeError) { try vault.close() } catch { throw Failure(inVault: error) }
    return result
  }
}

/// What of a vault's contents has been handed out.
final class Exported {
  private var files: UInt64 = 0
  private var bytes: UInt64 = 0
  var counts: (files: UInt64, bytes: UInt64) { (files, bytes) }

  /// Counts what a copy tells of, and hands it on.
  func watch(_ options: inout CopyOptions) {
    let tell = options.tell
    options.tell = { [self] count in
      bytes &+= count
      tell(count)
    }
    options.copied = { [self] in files += 1 }
  }
}

extension Failure {
  /// Why something in a vault could not be done. Without names: whoever reads it knows them.
  init(inVault error: VolumeError) {
    switch error {
    case .damaged(let what):
      self.init(
        .damagedStore, "the vault is damaged: \(what)", hint: "see `coffre verify`")
    case .readOnly(let reason): self.init(.systemError, reason)
    case .locked: self = .lockedMeanwhile
    case .system(let errno): self.init(inVault: errno)
    }
  }

  private init(inVault errno: Errno) {
    switch errno {
    case .noSuchFile, .notDirectory:
      self.init(.noSuchPath, "there is nothing at that path in the vault")
    case .notConnected, .aborted: self = .lockedMeanwhile
    case .noSpace, .overQuota:
      self.init(
        .noSpace, "no space left where the vault is",
        hint: "what was to be replaced is there as it was")
    case .exists: self.init(.exists, "there is something at that path in the vault")
    case .ioError:
      self.init(
        .damagedStore, "a piece of the vault could not be read or written",
        hint: "see `coffre verify`")
    default: self.init(.systemError, "in the vault: \(errno.description.lowercased())")
    }
  }

  private static var lockedMeanwhile: Failure {
    Failure(.notMounted, "the vault was locked in the meantime")
  }
}
