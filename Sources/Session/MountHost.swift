package import FuseBridge
import POSIX

/// A mount as its keeper made it, and what a person should know of the mount point.
package struct KeptMount: Sendable {
  let mounted: MountedDevice
  let notices: [String]
}

/// Whoever mounts, and takes the mount away again.
package protocol MountHost: MountKeeper {
  /// Mounts with the text for `-o`, where nothing is mounted.
  func mount(
    at mountPoint: String, options: String, isGuarded: Bool
  ) throws(Failure) -> KeptMount

  /// What keeps it from hearing of the session and the machine, as sentences.
  var problems: [String] { get }
  /// Has the desktop show something; nobody waits for that.
  func show(_ event: DesktopEvent)
  /// Lets the machine sleep or end: the mount is gone.
  func release()
}

/// Hears of nothing: that is for a process without keys.
extension OwnKeeper: MountHost {
  package var problems: [String] { [] }
  package func show(_ event: DesktopEvent) {}
  package func release() {}

  /// Another process may be at it, so one at a time.
  package func mount(
    at mountPoint: String, options: String, isGuarded: Bool
  ) throws(Failure) -> KeptMount {
    let isMade = try MadeMountPoint.make(mountPoint)
    do throws(Failure) {
      let lock = try MountPaths.claim(mountPoint)
      defer { withExtendedLifetime(lock) {} }
      return try mount(on: mountPoint, options, isGuarded)
    } catch {
      if isMade { MadeMountPoint.remove(mountPoint) }
      throw error
    }
  }

  private func mount(
    on mountPoint: String, _ options: String, _ isGuarded: Bool
  ) throws(Failure) -> KeptMount {
    let place: MountPointGuard
    do throws(Errno) { place = try MountPointGuard(mountPoint) } catch {
      throw Failure(
        .badMountPoint, "the mount point \(mountPoint): \(error.description.lowercased())",
        hint: "something else has come to its place since it was looked at first")
    }
    do throws(MountError) {
      let mounted = try Mounting.mount(over: place.folder, at: mountPoint, options: options)
      guard isGuarded else {
        place.restore()
        return KeptMount(mounted: mounted, notices: [])
      }
      return KeptMount(mounted: mounted, notices: place.protect())
    } catch {
      place.restore()
      throw Failure(error, mountPoint: mountPoint)
    }
  }
}
