import POSIX
import Vault

/// The folder of the control sockets: nobody but its owner gets in.
enum RuntimeFolder {
  /// Where it may be: $XDG_RUNTIME_DIR/coffre, /run/user/UID/coffre, /tmp/coffre-UID, and in the
  /// state folder, where nobody else can have been first.
  private static var candidates: [String] {
    let user = System.userNumber
    var paths: [String] = []
    if let base = System.environment("XDG_RUNTIME_DIR"), base.hasPrefix("/") {
      paths.append(base + "/coffre")
    }
    let common = "/run/user/\(user)/coffre"
    if !paths.contains(common) { paths.append(common) }
    paths.append("/tmp/coffre-\(user)")
    if let state = AnchorFolder.path { paths.append(state + "/run") }
    return paths
  }

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
      // A socket's path has at most 107 bytes: `/`, 32 digits, a number, `.sock`.
      if isOurs(path), path.utf8.count < 64 { return path }
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
