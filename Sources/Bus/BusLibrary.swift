import CSystem
import POSIX

/// libsystemd, which speaks D-Bus. It is looked for at run time: nobody has to have it.
package enum BusLibrary {
  /// Debian's libsystemd0.
  package static let name = "libsystemd.so.0"

  private static let isFound = Lock(false)

  /// Whether there is such a library with all that is called; it stays loaded then, and is not
  /// looked for again: others may be calling it by then.
  package static func load(_ name: String = name) -> Bool {
    isFound.withLock { isFound in
      if isFound, name == Self.name { return true }
      guard unsafe coffre_bus_load(name) == 0 else { return false }
      isFound = true
      return true
    }
  }

  static var isLoaded: Bool { isFound.withLock { $0 } }
}

/// Where a bus listens. Coffre opens no network socket and runs no program, so of what an address
/// may be, only sockets of this machine are taken.
package enum BusAddress {
  /// How an address begins that is a path.
  private static let pathStart = "unix:path="
  private static let systemSocket = "/run/dbus/system_bus_socket"

  /// The bus of the machine; nil if there is none.
  package static var system: String? {
    if let address = System.environment("DBUS_SYSTEM_BUS_ADDRESS") { return local(address) }
    guard (try? System.linkStatus(at: systemSocket)) != nil else { return nil }
    return pathStart + systemSocket
  }

  /// The bus of this user's session; nil if there is none, or it is another user's. A variable that
  /// is set to nothing says that there is none.
  package static var session: String? {
    let address: String
    if let set = System.environment("DBUS_SESSION_BUS_ADDRESS") {
      address = set
    } else if let folder = System.environment("XDG_RUNTIME_DIR") {
      let path = folder + "/bus"
      guard isPlain(path), (try? System.linkStatus(at: path)) != nil else { return nil }
      address = pathStart + path
    } else {
      return nil
    }
    guard let address = local(address), belongs(address, to: System.userNumber) else { return nil }
    return address
  }

  /// An address as the D-Bus specification writes it, if all of its parts are local sockets.
  package static func local(_ address: String) -> String? {
    let parts = address.utf8.split(separator: UInt8(ascii: ";"))
    guard !parts.isEmpty, parts.allSatisfy({ $0.starts(with: "unix:".utf8) }) else { return nil }
    return address
  }

  /// What needs no escapes in an address.
  private static func isPlain(_ path: String) -> Bool {
    path.utf8.first == UInt8(ascii: "/")
      && path.utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
          UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"),
          UInt8(ascii: "/"), UInt8(ascii: "."):
          true
        default: false
        }
      }
  }

  /// Whether a socket is a user's: the bus lets root in as well, who is not whom to tell. Whose an
  /// abstract one is, nobody can say but the bus there.
  static func belongs(_ address: String, to user: UInt32) -> Bool {
    guard address.utf8.starts(with: pathStart.utf8) else { return true }
    let rest = address.utf8.dropFirst(pathStart.utf8.count)
    let path = rest.prefix { $0 != UInt8(ascii: ",") && $0 != UInt8(ascii: ";") }
    let status = try? System.status(at: String(decoding: path, as: UTF8.self))
    return status?.user == user
  }
}
