import FuseBridge
import POSIX
import Vault

/// What must be true of the two paths before a password is asked for.
package enum MountPaths {
  /// The absolute path without links; of a mount that does not answer, as far as that goes.
  static func resolved(_ path: String) -> String {
    if let whole = try? System.realPath(path) { return whole }
    let parts = path.pathParts
    guard let folder = try? System.realPath(parts.folder) else { return path }
    return (folder == "/" ? "" : folder) + "/" + parts.name
  }

  /// Whether Coffre has a mount right there.
  static func isOurs(_ path: String) -> Bool { MountTable.hasOurs(at: path) }

  /// Why a mount that `lock` does not find can't be locked; nil if there is none at that path, and
  /// no vault that is open.
  package static func unreachable(_ path: String) -> Failure? {
    if isOurs(resolved(path)) {
      return Failure(
        .busy, "\(path) is mounted by another user or session, whose process can't be reached",
        hint: "lock it there, or unmount it with `umount` or `fusermount3 -u`")
    }
    guard let vault = try? Vault(path: path), (try? vault.information()) != nil else { return nil }
    do throws(VaultError) {
      try vault.checkFree(exclusive: true)
      return nil
    } catch {
      guard error == .inUse else { return nil }
      return Failure(
        .busy, "\(path) is in use by a process that can't be reached",
        hint: "was it mounted by another user or session?")
    }
  }

  /// Takes away a dead mount of ours at a path, with a mount point of our making; false if there is
  /// none.
  package static func clearDead(_ path: String) -> Bool {
    let whole = resolved(path)
    guard MountTable.detachStale(at: whole) else { return false }
    MadeMountPoint.remove(whole)
    return true
  }

  /// The mount point as an absolute path, after a dead mount of ours was taken away there.
  package static func check(mountPoint path: String, vault: String) throws(Failure) -> String {
    let guess = resolved(path)
    MountTable.detachStale(at: guess)
    let whole: String
    do throws(Errno) { whole = try System.realPath(path) } catch {
      if error == .illegalSequence { throw .badPath(path) }
      guard error == .noSuchFile, canBeMade(path) else {
        throw Failure(
          .badMountPoint, "the mount point \(path): \(error.description.lowercased())",
          hint: error == .noSuchFile ? "make it with `mkdir -p \(path)`" : nil)
      }
      whole = guess
    }
    if vault.containsPath(whole) || whole.containsPath(vault) {
      throw Failure(.nested, "the mount point and the vault are inside one another")
    }
    try checkNotMounted(whole, path)
    if (try? System.linkStatus(at: whole)) != nil { try checkEmpty(whole, path) }
    waitForRelease(of: vault)
    return whole
  }

  /// Whether nothing is missing but the folder itself; a link that leads nowhere is something.
  private static func canBeMade(_ path: String) -> Bool {
    guard let folder = try? System.realPath(path.pathParts.folder),
      (try? System.linkStatus(at: path.withoutLastSlashes)) == nil
    else { return false }
    return System.mayChange(directory: folder)
  }

  private static func checkNotMounted(_ whole: String, _ path: String) throws(Failure) {
    guard MountTable.isMountPoint(whole) else { return }
    throw Failure(
      .inUse, "something is mounted at \(path)",
      hint: MountTable.hasOurs(at: whole) ? "lock it first with `coffre lock \(path)`" : nil)
  }

  /// Holds a mount point where nothing is mounted, so that no other process mounts there before
  /// this one has; nil where folders can't be held.
  static func claim(_ mountPoint: String) throws(Failure) -> FolderLock? {
    try checkNotMounted(mountPoint, mountPoint)
    let lock = try? FolderLock(mountPoint, patience: 10_000)
    // Whoever held it has mounted there.
    try checkNotMounted(mountPoint, mountPoint)
    return lock
  }

  /// After an unmount, which is over as soon as the mount is gone, the process that served it may
  /// still be writing: waits until it has let the vault go. A vault that is mounted is not waited
  /// for, and one that is held by nobody we can ask for five seconds only.
  private static func waitForRelease(of vault: String) {
    let start = Clock.boottime
    while isHeld(vault) {
      // One that does not answer is not waited for either.
      guard let mounts = try? ControlClient.mounts(at: vault) else { return }
      if mounts.contains(where: { MountTable.isMountPoint($0.status.mountPoint) }) { return }
      let patience: UInt64 = mounts.isEmpty ? 5_000_000_000 : 60_000_000_000
      guard Clock.boottime < start + patience else { return }
      Clock.sleep(nanoseconds: 50_000_000)
    }
  }

  /// Whether a process has the vault open for writing.
  private static func isHeld(_ vault: String) -> Bool {
    do throws(VaultError) {
      try Vault(path: vault).checkFree(exclusive: false)
      return false
    } catch { return error == .inUse }
  }

  private static func checkEmpty(_ whole: String, _ path: String) throws(Failure) {
    let names: [String]
    do throws(Errno) {
      names = try System.names(in: try System.open(whole, [.directory]))
    } catch {
      throw Failure(.badMountPoint, "the mount point \(path): \(error.description.lowercased())")
    }
    guard names.isEmpty else {
      throw Failure(
        .badMountPoint, "the mount point \(path) is not empty",
        hint: "what is in it would be hidden; give an empty folder")
    }
  }
}
