import Crypto
import Format
import POSIX
import Vault

/// Answers `status`, `lock`, `passwd`, `verify`, `journal` and `exported` for one mount.
final class ControlServer: Sendable {
  private let mount: ActiveMount
  private let socket: ControlSocket
  private let work = Monitor(Work())
  /// Why the vault was locked the time before, if that is known.
  private let lastLock: LastLock?
  private let hasEnded = Lock(false)

  private struct Work {
    var connections = 0
    /// Requests that are read and not yet answered.
    var answers = 0
  }

  /// More wait to be accepted.
  private static let mostConnections = 64

  init(_ mount: ActiveMount) throws(Failure) {
    self.mount = mount
    let identifier = mount.vault.information.identifier
    lastLock = LastLock.all(in: RuntimeFolder.folders()).first { $0.identifier == identifier }
    socket = try ControlSocket.open(vault: identifier)
    note(.killed)
  }

  /// Writes down why the mount is gone, should this be the last word of it.
  private func note(_ cause: LockCause) {
    let lock = LastLock(
      vault: mount.settings.vault, mountPoint: mount.settings.mountPoint,
      identifier: mount.vault.information.identifier, time: Clock.realtime.seconds, cause: cause,
      problem: cause == .killed ? nil : mount.failure?.message)
    lock.write(to: LastLock.path(ofSocket: socket.path))
  }

  /// Takes connections on a thread of its own, and each on another: a lock takes its time, and
  /// `status` does not wait for it.
  func start() throws(Failure) {
    do throws(Errno) {
      try Thread.start("coffre-control") { [self] in
        while true {
          let connection: Connection
          do throws(Errno) { connection = try socket.accept() } catch {
            // Too many descriptors, or no memory: that passes, and nobody else would take over.
            Clock.sleep(nanoseconds: 100_000_000)
            continue
          }
          work.withLock(when: { $0.connections < Self.mostConnections }, timeout: nil) {
            $0.connections += 1
          }
          let started = try? Thread.start("coffre-answer") { [self] in
            answer(connection)
            work.withLock { $0.connections -= 1 }
          }
          if started == nil { work.withLock { $0.connections -= 1 } }
        }
      }
    } catch { throw Failure(error, doing: "control socket") }
  }

  /// Nobody finds the mount any more, but why it is gone. Once: the names may be somebody else's
  /// right after.
  func close() {
    hasEnded.withLock { hasEnded in
      guard !hasEnded else { return }
      hasEnded = true
      note(mount.cause)
      socket.remove()
    }
  }

  /// Lets answers under way get out. A connection without a request is not waited for, but for one
  /// that is on its way.
  func waitForAnswers() {
    work.withLock(when: { $0.connections == 0 }, timeout: 100_000_000) { _ in }
    work.withLock(when: { $0.answers == 0 }, timeout: 5_000_000_000) { _ in }
  }

  private func answer(_ connection: Connection) {
    guard let request = connection.receive(patience: 5000) else { return }
    work.withLock { $0.answers += 1 }
    defer { work.withLock { $0.answers -= 1 } }
    let user = (try? connection.peer().user) ?? System.userNumber
    switch request.verb {
    case "status":
      var status = mount.status
      status.lastLock = lastLock
      try? connection.send(status.message)
    case "lock": try? connection.send(lock(by: user))
    case "passwd": try? connection.send(changePassword(request, connection, by: user))
    case "exported": try? connection.send(noteExport(request, by: user))
    case "journal": AuditReport.answer(of: mount, request, connection)
    case "verify":
      do throws(Errno) { try MountedCheck(mount, request, user: user).answer(connection) } catch {
        try? connection.send(Message(Failure(error, doing: "starting a thread")))
      }
    default: try? connection.send(Message(Failure(.usage, "a request that is not known")))
    }
    // The end of the connection is to tell that the process is gone.
    if request.verb == "lock" { kept.withLock { $0.append(connection) } }
  }

  private let kept = Lock<[Connection]>([])

  private func lock(by user: UInt32) -> Message {
    mount.lock(.requested, by: user)
    close()
    var answer = mount.failure.map { Message($0) } ?? Message("done")
    // A thread that hangs keeps the process, and with it the connection.
    if mount.isAbandoned { answer["process"] = "stays" }
    return answer
  }

  /// Of a copy through the mount, which this process can't tell from any other reading.
  private func noteExport(_ request: Message, by user: UInt32) -> Message {
    func number(_ name: String) -> UInt64 { request[name].flatMap { UInt64($0) } ?? 0 }
    mount.vault.audit.record(
      .exported(.get, files: number("files"), bytes: number("bytes")), user: user)
    return Message("done")
  }

  private func changePassword(
    _ request: Message, _ connection: Connection, by user: UInt32
  ) -> Message {
    guard let old = connection.receiveSecret(request.count("old"), patience: 5000),
      let new = connection.receiveSecret(request.count("new"), patience: 5000)
    else { return Message(Failure(.badPasswordInput, "the passwords did not arrive")) }
    do throws(VaultError) {
      try mount.vault.changePassword(old: old, new: new, user: user)
      return Message("done")
    } catch { return Message(Failure(error, vault: mount.settings.vault)) }
  }
}

extension Message {
  /// A number of bytes; 0 if there is none.
  func count(_ name: String) -> Int { self[name].flatMap { Int($0) } ?? 0 }
}
