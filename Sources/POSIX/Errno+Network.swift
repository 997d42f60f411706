import Glibc

extension Errno {
  /// The server of a mount is gone; "transport endpoint is not connected".
  package static let notConnected = Errno(rawValue: ENOTCONN)
  /// The same for a request that was under way when it went.
  package static let connectionAborted = Errno(rawValue: ECONNABORTED)
  /// Nobody listens at a socket any more.
  package static let refused = Errno(rawValue: ECONNREFUSED)
  /// A socket's path is taken.
  package static let addressInUse = Errno(rawValue: EADDRINUSE)
}
