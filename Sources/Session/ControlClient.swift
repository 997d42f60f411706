package import Crypto
import FuseBridge
import POSIX
import Vault

/// Finds the mounts of this user and asks them.
package enum ControlClient {
  /// A mount that answers, and the socket it answers at.
  package struct Found: Hashable, Sendable {
    package let status: MountStatus
    let socket: String

    /// Whether it is still to be found; its process may be locking it by now.
    package var isThere: Bool { (try? System.linkStatus(at: socket)) != nil }
  }

  /// A mount whose process does not answer, such as one that was stopped.
  package struct Silent: Hashable, Sendable {
    /// The vault's id.
    let identifier: String
    /// Nil if not even a connection is to be had.
    let process: Int32?

    package var failure: Failure {
      let process = process.map { "process \($0)" } ?? "its process"
      return Failure(
        .systemError, "a vault is mounted, but \(process) does not answer",
        hint: "is it stopped, or does it wait for a disk?")
    }
  }

  /// All mounts of this user.
  package struct Sight: Sendable {
    package fileprivate(set) var mounts: [Found] = []
    package fileprivate(set) var silent: [Silent] = []
    /// Vaults that are not mounted any more.
    package fileprivate(set) var locked: [LastLock] = []
  }

  /// Looks at every mount there is; sockets of killed processes are removed on the way.
  package static func look() -> Sight {
    let before = LastLock.all(in: RuntimeFolder.folders())
    var sight = look(at: RuntimeFolder.sockets())
    sight.locked = LastLock.all(in: RuntimeFolder.folders()).filter { lock in
      // One that has come up since is of a mount that has just begun.
      (lock.cause != .killed || before.contains(lock))
        && !sight.mounts.contains { $0.status.identifier == lock.identifier }
        && !sight.silent.contains { $0.identifier == lock.identifier }
    }
    return sight
  }

  static func look(at sockets: [String], patience: Int32 = 5000) -> Sight {
    var sight = Sight()
    for path in sockets {
      let connection: Connection
      do throws(Errno) { connection = try connect(path, patience) } catch {
        if error == .refused {
          ControlSocket.removeIfStale(path)
        } else if error == .tryAgain {
          sight.silent.append(Silent(identifier: ControlSocket.identifier(path), process: nil))
        }
        continue
      }
      guard (try? connection.send(Message("status"))) != nil else { continue }
      if let reply = connection.receive(patience: patience) {
        guard let status = MountStatus(reply) else { continue }
        sight.mounts.append(Found(status: status, socket: path))
      } else if !connection.hasEnded {
        let process = try? connection.peer().process
        sight.silent.append(Silent(identifier: ControlSocket.identifier(path), process: process))
      }
    }
    return sight
  }

  /// The mounts of a vault or at a mount point; a path in any spelling. Throws if there is one that
  /// does not answer and may be meant.
  package static func mounts(at path: String) throws(Failure) -> [Found] {
    let sight = look()
    let whole = MountPaths.resolved(path)
    if MountPaths.isOurs(whole) {
      // Nothing is asked of the mount itself: one that does not answer would hold whoever asks.
      let here = sight.mounts.filter { $0.status.mountPoint.hasSameBytes(as: whole) }
      if here.isEmpty, let silent = sight.silent.first, !MountTable.isStale(at: whole) {
        throw silent.failure
      }
      return here
    }
    let named = sight.mounts.filter {
      $0.status.mountPoint.hasSameBytes(as: whole) || isFolder(whole, of: $0.status)
    }
    guard named.isEmpty, !sight.silent.isEmpty else { return named }
    let identifier = (try? Vault(path: whole).information())?.identifier
    if let silent = sight.silent.first(where: { $0.identifier == identifier }) {
      throw silent.failure
    }
    return []
  }

  /// Whether a vault is the one a mount has open, seen by another path or moved. A copy of it has
  /// the same id, and may have come to the same path, and is another one.
  private static func isFolder(_ path: String, of status: MountStatus) -> Bool {
    guard let found = try? System.status(at: path) else {
      return status.vault.hasSameBytes(as: path)
    }
    return status.folder == found.identity
  }

  /// Locks a mount; returns when its process is gone.
  package static func lock(_ found: Found) throws(Failure) { try lock(found, patience: 5000) }

  static func lock(_ found: Found, patience: Int32) throws(Failure) {
    guard let connection = try reconnect(found, patience) else { return }
    do throws(Errno) { try connection.send(Message("lock")) } catch {
      throw Failure(error, doing: "control socket")
    }
    let reply = connection.receive(patience: nil)
    // Also after a failure: the vault is locked all the same, and its process about to go, unless
    // its disk holds it.
    if reply?["process"] != "stays" { connection.waitForEnd() }
    // The process that would have unmounted may have been killed.
    let mountPoint = found.status.mountPoint
    MountTable.detachStale(at: mountPoint)
    let isLeft = MountTable.isStale(at: mountPoint)
    MadeMountPoint.remove(mountPoint)
    try understand(reply)
    guard isLeft else { return }
    throw Failure(
      .busy, "the vault is locked, but its mount could not be taken away",
      hint: "take it away with `fusermount3 -u -z`, or with `umount -l` as root")
  }

  /// Nil if the mount is gone, and nothing but that: whoever can't be reached may be there.
  private static func reconnect(
    _ found: Found, _ patience: Int32
  ) throws(Failure) -> Connection? {
    do throws(Errno) { return try connect(found.socket, patience) } catch {
      guard error == .refused || error == .noSuchFile else {
        throw Failure(error, doing: "control socket")
      }
      return nil
    }
  }

  /// Changes the password of a mounted vault, through the process that has it open.
  package static func changePassword(
    _ found: Found, old: borrowing SecretBytes, new: borrowing SecretBytes
  ) throws(Failure) {
    guard let connection = try reconnect(found, 5000) else {
      throw Failure(.notMounted, "the vault was locked in the meantime")
    }
    do throws(Errno) {
      try connection.send(
        Message("passwd", ["old": String(old.count), "new": String(new.count)]))
      try connection.send(old)
      try connection.send(new)
    } catch { throw Failure(error, doing: "control socket") }
    try understand(connection.receive(patience: nil))
  }

  private static func understand(_ reply: Message?) throws(Failure) {
    guard let reply else { throw Failure(.systemError, "the mount's process ended without a word") }
    if let failure = reply.failure { throw failure }
  }

  static func connect(
    _ path: String, _ patience: Int32 = 5000
  ) throws(Errno) -> Connection {
    System.ignorePipeSignal()
    let connection = Connection(try System.connect(to: path, patience: patience))
    // A socket somebody else put there would get a password.
    guard try connection.peer().user == System.userNumber else { throw .accessDenied }
    return connection
  }
}
