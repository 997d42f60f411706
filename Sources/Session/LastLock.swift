import Bytes
import POSIX

/// Why a mount that is gone was locked: a small file beside the socket of the mount, with the same
/// name but for its end. Only its owner gets into that folder.
///
/// It is there from the mount on, without a cause: one that never gets any is of a process that was
/// killed.
package struct LastLock: Hashable, Sendable {
  package let vault: String
  package let mountPoint: String
  /// The vault's id.
  package let identifier: String
  /// When the mount began, and then when it was gone: seconds since 1970.
  package let time: Int64
  package let cause: LockCause
  /// What could not be kept, as a sentence.
  package let problem: String?
}

extension LastLock {
  fileprivate static let ending = ".last"

  /// The file for the mount of a socket.
  static func path(ofSocket path: String) -> String {
    (path.hasSuffix(".sock") ? String(path.dropLast(5)) : path) + ending
  }

  var message: Message {
    var message = Message(
      "locked",
      [
        "vault": vault, "mountpoint": mountPoint, "id": identifier, "time": String(time),
        "cause": cause.rawValue,
      ])
    message["problem"] = problem
    return message
  }

  init?(_ message: Message) {
    guard message.verb == "locked", let vault = message["vault"],
      let mountPoint = message["mountpoint"], let identifier = message["id"],
      let time = message["time"].flatMap({ UInt32($0) }).map({ Int64($0) }),
      let cause = message["cause"].flatMap({ LockCause(rawValue: $0) })
    else { return nil }
    self.init(
      vault: vault, mountPoint: mountPoint, identifier: identifier, time: time, cause: cause,
      problem: message["problem"])
  }

  /// Whole or not at all, under the old name of a file that is new. A failure is told to nobody:
  /// the folder goes with the session, and the lock is what matters.
  func write(to path: String) {
    let parts = path.pathParts
    guard let folder = try? System.open(parts.folder, [.directory]) else { return }
    let new = parts.name + ".new"
    do throws(Errno) {
      let file = try System.open(
        new, in: folder, [.writeOnly, .create, .truncate, .noFollow, .nonBlocking])
      try System.write(file, Buffer(message.line).bytes, at: 0)
      try System.rename(new, in: folder, to: parts.name, in: folder)
    } catch { try? System.remove(new, in: folder) }
  }

  /// Nil for what is no such file, as somebody else may have left one in its place.
  static func read(_ path: String) -> LastLock? {
    guard let file = try? System.open(path, [.readOnly, .noFollow, .nonBlocking]),
      let status = try? System.status(of: file), status.isRegular,
      let line = try? System.readFile(file, limit: Self.longest), line.last == 0x0a
    else { return nil }
    return Message(line: Array(line.dropLast())).flatMap { LastLock($0) }
  }

  /// Two paths, see `Connection`, and a sentence.
  private static let longest = 32 << 10

  /// Whether the mount it is of is still there: what it says is for later.
  private func isEarly(_ path: String) -> Bool {
    let socket = path.dropLast(Self.ending.count) + ".sock"
    return cause == .killed && ControlSocket.isLive(String(socket))
  }

  /// The newest of each vault.
  static func all(in folders: [String]) -> [LastLock] {
    var newest: [String: LastLock] = [:]
    for path in folders {
      guard let folder = try? System.open(path, [.directory, .noFollow]),
        let names = try? System.names(in: folder)
      else { continue }
      for name in names where name.hasSuffix(ending) {
        let file = path + "/" + name
        guard let found = read(file), !found.isEarly(file) else { continue }
        let other = newest[found.identifier]
        if other.map({ $0.time < found.time }) ?? true { newest[found.identifier] = found }
      }
    }
    return newest.values.sorted { ($0.vault, $0.identifier) < ($1.vault, $1.identifier) }
  }
}
