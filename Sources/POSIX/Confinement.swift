import CSystem
import Glibc

/// Giving up what a process does not need, for ever: whoever got hold of it through what it reads
/// gets no further.
package enum Confinement {
  package static var hasLandlock: Bool { coffre_landlock_version() > 0 }

  /// From now on this thread, and each it starts, opens what is at or below some paths, and nothing
  /// else: landlock(7). Paths that are not there are left out. What is open stays open. No TCP
  /// either.
  ///
  /// Also no program it starts gets more rights than it has. False where the kernel has no
  /// Landlock, and then all else is as before.
  package static func confineFiles(changing: [String], reading: [String]) -> Bool {
    guard coffre_no_new_privileges() == 0 else { return false }
    let version = coffre_landlock_version()
    guard version > 0 else { return false }
    let number = coffre_landlock_rules(version)
    guard number >= 0 else { return false }
    let rules = Descriptor(owning: number)
    for (paths, isChanging) in [(changing, 1), (reading, 0)] {
      for path in paths {
        guard let place = try? System.open(path, [.path]) else { continue }
        _ = coffre_landlock_allow(rules.rawValue, version, place.rawValue, Int32(isChanging))
      }
    }
    return coffre_landlock_enter(rules.rawValue) == 0
  }

  /// From now on these calls fail with EPERM, in all threads, seccomp(2): everything that makes or
  /// binds a socket, starts a program or a process, looks into another process or sends it a
  /// signal, changes modes, owners, times, attributes or a length by path, mounts or unmounts, or
  /// sets up what would go around this. `accept4` on what listens already works.
  ///
  /// Refused and not killed: a process that ends at once loses what it has not written yet. ENOSYS
  /// on a kernel without seccomp, and on a processor whose numbers we do not know.
  package static func refuseCalls() throws(Errno) {
    guard coffre_no_new_privileges() == 0 else { throw .current }
    let failure = coffre_refuse_calls()
    guard failure == 0 else { throw Errno(rawValue: failure) }
  }
}
