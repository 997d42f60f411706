package import FileTree
import FuseBridge
import POSIX
import Volume

/// A mounted vault as a tree for verbs to work on.
extension ControlClient {
  /// The top of a mount, open. From there on it makes no difference what becomes of the path: if
  /// the vault is locked, what is begun fails, and nothing lands in the empty mount point.
  ///
  /// What is open at the path has to be the filesystem that the vault's process serves. It is asked
  /// again after the opening: as long as the descriptor is there, no other filesystem can have the
  /// same number.
  package static func tree(of found: Found) throws(Failure) -> SystemFolder {
    let mountPoint = found.status.mountPoint
    let opened: Descriptor
    do throws(Errno) { opened = try System.open(mountPoint, [.directory, .noFollow]) } catch {
      throw unreachable(mountPoint)
    }
    let device = System.device(ofOpen: "/proc/self/fd/\(opened.rawValue)")
    let isCoffre = MountTable.entries().contains {
      $0.device == device && $0.type == "fuse.coffre"
    }
    guard let device, isCoffre,
      look(at: [found.socket]).mounts.contains(where: {
        $0.status.device == device && $0.status.identifier == found.status.identifier
      })
    else { throw unreachable(mountPoint) }
    do throws(VolumeError) { return try SystemFolder(opened, staysOnDevice: true) } catch {
      throw unreachable(mountPoint)
    }
  }

  /// Has it written down that contents were copied out. The copy is made, so nothing fails by it.
  package static func noteExport(_ found: Found, files: UInt64, bytes: UInt64) {
    guard let connection = try? connect(found.socket) else { return }
    let message = Message("exported", ["files": String(files), "bytes": String(bytes)])
    if (try? connection.send(message)) != nil { _ = connection.receive(patience: 5000) }
  }

  private static func unreachable(_ mountPoint: String) -> Failure {
    Failure(
      .busy, "the vault is mounted at \(mountPoint), but that can't be reached from here",
      hint: "is it being locked, or mounted in another session or container?")
  }
}
