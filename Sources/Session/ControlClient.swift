package import Crypto
import POSIX

/// Finds the mounts of this user and asks them.
package enum ControlClient {
  /// A mount that answers, and the socket it answers at.
  package struct Found: Hashable, Sendable {
    package let status: MountStatus
    let socket: String
  }

  /// Every mount there is; sockets of killed processes are removed on the way.
  package static func mounts() -> [Found] {
    RuntimeFolder.sockets().compactMap { path in
      if ControlSocket.isStale(path) {
        try? System.remove(path)
        return nil
      }
      guard let connection = connect(path), (try? connection.send(Message("status"))) != nil,
        let reply = connection.receive(patience: 5000), let status = MountStatus(reply)
      else { return nil }
      return Found(status: status, socket: path)
    }
  }

  /// The mount of a vault or at a mount point; a path in any spelling.
  package static func mounts(at path: String) -> [Found] {
    let whole = MountPaths.resolved(path)
    return mounts().filter { $0.status.vault == whole || $0.status.mountPoint == whole }
  }

  /// Locks a mount; returns when its process is gone.
  package static func lock(_ found: Found) throws(Failure) {
    guard let connection = connect(found.socket) else { return }
    try ask(connection, Message("lock"))
    connection.waitForEnd()
  }

  /// Changes the password of a mounted vault, through the process that has it open.
  package static func changePassword(
    _ found: Found, old: borrowing SecretBytes, new: borrowing SecretBytes
  ) throws(Failure) {
    guard let connection = connect(found.socket) else {
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

  private static func ask(_ connection: Connection, _ message: Message) throws(Failure) {
    do throws(Errno) { try connection.send(message) } catch {
      throw Failure(error, doing: "control socket")
    }
    try understand(connection.receive(patience: nil))
  }

  private static func understand(_ reply: Message?) throws(Failure) {
    guard let reply else { throw Failure(.systemError, "the mount's process ended without a word") }
    if let failure = reply.failure { throw failure }
  }

  private static func connect(_ path: String) -> Connection? {
    System.ignorePipeSignal()
    guard let descriptor = try? System.connect(to: path) else { return nil }
    let connection = Connection(descriptor)
    // A socket somebody else put there would get a password.
    guard let peer = try? connection.peer(), peer.user == System.userNumber else { return nil }
    return connection
  }
}
