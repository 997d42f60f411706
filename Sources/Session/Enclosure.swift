import POSIX
import Vault

/// What the process that serves a mount is left with: whoever got hold of it, by what a vault or a
/// program feeds it, reaches no file but those of the vault, no network, no program, and no other
/// process. What needs more is done by its `Keeper`.
enum Enclosure {
  /// Files: those of the vault, of the state and the run-time folder; and, to read, what is the
  /// system's. Before any thread is started, and before the vault is read. Answers with what a
  /// person should know.
  static func confineFiles(_ settings: MountSettings) -> [String] {
    System.wipeFreedMemory()
    System.openLog()
    AnchorFolder.make()
    let own = [settings.vault, AnchorFolder.path, try? RuntimeFolder.make(), "/dev/null"]
    guard !Confinement.confineFiles(changing: own.compactMap(\.self), reading: system) else {
      return []
    }
    return [
      "the mount's process is not kept from other files: this kernel confines none, landlock(7)"
    ]
  }

  /// Libraries and their settings, and what the kernel tells of itself.
  private static let system = [
    "/usr", "/lib", "/lib64", "/proc", "/sys", "/etc/ssl", "/etc/ld.so.cache", "/etc/passwd",
    "/etc/nsswitch.conf", "/etc/localtime",
  ]

  /// Calls: see `Confinement.refuseCalls`. Once everything is opened. Answers with what a person
  /// should know.
  static func refuseCalls() -> [String] {
    do throws(Errno) {
      try Confinement.refuseCalls()
      return []
    } catch {
      return ["the mount's process is not confined: this kernel filters no calls, seccomp(2)"]
    }
  }
}
