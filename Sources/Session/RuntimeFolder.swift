import POSIX
import Vault

/// The folder of the control sockets: nobody but its owner gets in.
enum RuntimeFolder {
  /// Where it may be: /run/user/UID/coffre, /tmp/coffre-UID, and in the state folder, where nobody
  /// else can have been first. Whoever sets XDG_RUNTIME_DIR to another folder of his own has
  /// it there, and does not meet the mounts elsewhere.
  private static var candidates: [String] {
    let user = System.userNumber
    var paths = own(of: user).map { [$0] } ?? ["/run/user/\(user)/coffre", "/tmp/coffre-\(user)"]
    if let state = AnchorFolder.path { paths.append(state + "/run") }
    return paths
  }

  private static func own(of user: UInt32) -> String? {
    guard let base = System.environment("XDG_RUNTIME_DIR"), base.hasPrefix("/"),
      base != "/run/user/\(user)", (try? System.status(at: base))?.user == user,
      isShort(base + "/coffre")
    else { return nil }
    return base + "/coffre"
  }

  /// A socket's path has at most 107 bytes: `/`, 32 digits, a number, `.sock`.
  private static func isShort(_ path: String) -> Bool { path.utf8.count < 64 }

  /// A folder of ours, private; in /tmp anybody could have put one in its place.
  private static func isOurs(_ path: String) -> Bool {
    guard let status = try? System.linkStatus(at: path) else { return false }
    return status.isDirectory && status.user == System.userNumber && status.mode & 0o077 == 0
  }

  /// The first that is there or can be made.
  static func make() throws(Failure) -> String { try make(oneOf: candidates) }

  static func make(oneOf candidates: [String]) throws(Failure) -> String {
    for path in candidates {
      try? System.makeDirectory(path, mode: 0o700)
      if isOurs(path), isShort(path) { return path }
    }
    let taken = candidates.last { (try? System.linkStatus(at: $0)) != nil && !isOurs($0) }
    throw Failure(
      .systemError,
      taken.map { "\($0) is not a private folder of this user, so no control socket can be made" }
        ?? "no folder for the control socket can be made",
      hint: "set XDG_RUNTIME_DIR to a private folder of yours with a short path")
  }

  /// Those that are there.
  static func folders() -> [String] { candidates.filter(isOurs) }

  /// The sockets there are, live or stale.
  static func sockets() -> [String] {
    folders().flatMap { path -> [String] in
      guard let folder = try? System.open(path, [.directory, .noFollow]),
        let names = try? System.names(in: folder)
      else { return [] }
      return names.filter { $0.hasSuffix(".sock") }.sorted().map { path + "/" + $0 }
    }
  }
}
