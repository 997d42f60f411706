import POSIX

/// The socket a mounted vault is reached through: `<vault id>.sock`, or with a number behind the id
/// when the vault is mounted more than once, read-only.
final class ControlSocket: Sendable {
  let path: String
  private let listener: Descriptor

  private init(_ path: String, _ listener: consuming Descriptor) {
    self.path = path
    self.listener = listener
  }

  static func open(vault identifier: String) throws(Failure) -> ControlSocket {
    let folder = try RuntimeFolder.make()
    for number in 1...64 {
      let path = folder + "/" + identifier + (number == 1 ? "" : "-\(number)") + ".sock"
      if isStale(path) { try? System.remove(path) }
      do throws(Errno) {
        return ControlSocket(path, try System.listen(at: path))
      } catch {
        guard error == .addressInUse else { throw Failure(error, doing: "control socket") }
      }
    }
    throw Failure(.inUse, "the vault is mounted too often")
  }

  /// Left behind by a process that was killed.
  static func isStale(_ path: String) -> Bool {
    do throws(Errno) {
      _ = try System.connect(to: path)
      return false
    } catch { return error == .refused }
  }

  /// The next connection of this user or of root; others are turned away.
  func accept() throws(Errno) -> Connection {
    while true {
      let connection = Connection(try System.accept(listener))
      guard let peer = try? connection.peer() else { continue }
      if peer.user == System.userNumber || peer.user == 0 { return connection }
    }
  }

  func remove() { try? System.remove(path) }
}
