import POSIX

/// The socket a mounted vault is reached through: `<vault id>.sock`, or with a number behind the id
/// when the vault is mounted more than once, read-only.
final class ControlSocket: Sendable {
  let path: String
  private let listener: Descriptor
  private let isRemoved = Lock(false)

  private init(_ path: String, _ listener: consuming Descriptor) {
    self.path = path
    self.listener = listener
  }

  static func open(vault identifier: String) throws(Failure) -> ControlSocket {
    try open(vault: identifier, in: RuntimeFolder.make())
  }

  static func open(vault identifier: String, in folder: String) throws(Failure) -> ControlSocket {
    let lock: FolderLock
    do throws(Errno) { lock = try FolderLock(folder, patience: 5000) } catch {
      throw Failure(error, doing: "control socket")
    }
    defer { withExtendedLifetime(lock) {} }
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

  /// The id of the vault a socket is for.
  static func identifier(_ path: String) -> String {
    let name = path.utf8.split(separator: UInt8(ascii: "/")).last ?? path.utf8[...]
    let end = name.firstIndex { $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: ".") }
    return String(decoding: name[..<(end ?? name.endIndex)], as: UTF8.self)
  }

  /// Removes what a killed process left. A socket in the making looks the same, so it is done only
  /// while nobody makes one.
  static func removeIfStale(_ path: String) {
    guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")),
      let lock = try? FolderLock(String(path[..<slash]), patience: 1000)
    else { return }
    if isStale(path) { try? System.remove(path) }
    withExtendedLifetime(lock) {}
  }

  /// Whether somebody listens there, even if he has no time.
  static func isLive(_ path: String) -> Bool {
    (try? System.linkStatus(at: path)) != nil && !isStale(path)
  }

  /// Left behind by a process that was killed.
  private static func isStale(_ path: String) -> Bool {
    do throws(Errno) {
      _ = try System.connect(to: path, patience: 1)
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

  /// Once: the name may be somebody else's right after.
  func remove() {
    let isFirst = isRemoved.withLock { isRemoved in
      defer { isRemoved = true }
      return !isRemoved
    }
    if isFirst { try? System.remove(path) }
  }
}
