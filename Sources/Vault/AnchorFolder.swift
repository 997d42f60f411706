import Disk
import POSIX

/// Where this machine remembers what it saw of its vaults: $XDG_STATE_HOME/coffre, or
/// ~/.local/state/coffre.
package enum AnchorFolder {
  /// Absolute; nil where there is no home.
  package static var path: String? { base().map { $0 + "/coffre" } }

  /// Makes the folder, if it can be.
  package static func make() {
    guard let base = base() else { return }
    makeAll(base)
    try? System.makeDirectory(base + "/coffre", mode: 0o700)
  }

  /// Opens the folder, made if need be; nil if that can't be: the vault works, an old copy of it
  /// goes unnoticed.
  static func open() -> PosixDisk? {
    make()
    guard let path, let status = try? System.linkStatus(at: path), status.isDirectory,
      status.user == System.userNumber
    else { return nil }
    return try? PosixDisk(path: path)
  }

  private static func base() -> String? {
    if let state = System.environment("XDG_STATE_HOME"), state.hasPrefix("/") { return state }
    guard let home = System.environment("HOME") ?? System.home, home.hasPrefix("/") else {
      return nil
    }
    return home + "/.local/state"
  }

  private static func makeAll(_ path: String) {
    var whole = ""
    for part in path.split(separator: "/") {
      whole += "/" + part
      try? System.makeDirectory(whole, mode: 0o700)
    }
  }
}
