import Crypto
import POSIX
import Vault

/// Answers `status`, `lock` and `passwd` for one mount.
final class ControlServer: Sendable {
  private let mount: ActiveMount
  private let socket: ControlSocket
  /// Answers under way; the process ends after them.
  private let answering = Monitor(0)

  init(_ mount: ActiveMount) throws(Failure) {
    self.mount = mount
    socket = try ControlSocket.open(vault: mount.vault.information.identifier)
  }

  /// Takes connections on a thread of its own, and each on another: a lock takes its time, and
  /// `status` does not wait for it.
  func start() throws(Failure) {
    do throws(Errno) {
      try Thread.start("coffre-control") { [self] in
        while let connection = try? socket.accept() {
          answering.withLock { $0 += 1 }
          let started = try? Thread.start("coffre-answer") { [self] in
            answer(connection)
            answering.withLock { $0 -= 1 }
          }
          if started == nil { answering.withLock { $0 -= 1 } }
        }
      }
    } catch { throw Failure(error, doing: "control socket") }
  }

  /// Nobody finds the mount any more.
  func close() { socket.remove() }

  /// Lets answers under way get out.
  func waitForAnswers() {
    answering.withLock(when: { $0 == 0 }, timeout: 5_000_000_000) { _ in }
  }

  private func answer(_ connection: Connection) {
    guard let request = connection.receive(patience: 5000) else { return }
    switch request.verb {
    case "status": try? connection.send(mount.status.message)
    case "lock": try? connection.send(lock())
    case "passwd": try? connection.send(changePassword(request, connection))
    default: try? connection.send(Message(Failure(.usage, "a request that is not known")))
    }
    // The end of the connection is to tell that the process is gone.
    if request.verb == "lock" { kept.withLock { $0.append(connection) } }
  }

  private let kept = Lock<[Connection]>([])

  private func lock() -> Message {
    guard mount.lock() else {
      return Message(Failure(.busy, "the vault could not be unmounted"))
    }
    close()
    return mount.failure.map { Message($0) } ?? Message("done")
  }

  private func changePassword(_ request: Message, _ connection: Connection) -> Message {
    guard let old = connection.receiveSecret(request.count("old"), patience: 5000),
      let new = connection.receiveSecret(request.count("new"), patience: 5000)
    else { return Message(Failure(.badPasswordInput, "the passwords did not arrive")) }
    do throws(VaultError) {
      try mount.vault.changePassword(old: old, new: new)
      return Message("done")
    } catch { return Message(Failure(error, vault: mount.settings.vault)) }
  }
}

extension Message {
  /// A number of bytes; 0 if there is none.
  func count(_ name: String) -> Int { self[name].flatMap { Int($0) } ?? 0 }
}
