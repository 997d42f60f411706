import Glibc

extension Errno {
  /// The server of a mount is gone; "transport endpoint is not connected".
  package static let notConnected = Errno(rawValue: ENOTCONN)
  /// The other side has closed a connection.
  package static let reset = Errno(rawValue: ECONNRESET)
  /// The server of a mount went while a request was under way.
  package static let aborted = Errno(rawValue: ECONNABORTED)
  /// Nobody listens at a socket any more.
  package static let refused = Errno(rawValue: ECONNREFUSED)
  /// What sd-bus makes of an answer that there is no such object or method.
  package static let noSuchObject = Errno(rawValue: EBADR)
  /// A socket's path is taken.
  package static let addressInUse = Errno(rawValue: EADDRINUSE)
}
