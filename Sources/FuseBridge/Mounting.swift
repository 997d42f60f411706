internal import CFuse3
internal import Glibc
package import POSIX

/// A filesystem that is mounted, and not yet served.
package final class MountedDevice: Sendable {
  /// What requests are read from, and answers written to: /dev/fuse.
  let connection: Descriptor
  /// As `MountTable` names it.
  package let device: String

  package init(_ connection: consuming Descriptor, device: String) {
    self.connection = connection
    self.device = device
  }

  /// For another process to get it.
  package var number: Int32 { connection.rawValue }
}

/// Putting a filesystem into the tree: mount(2), or fusermount3(1) where that is for root only.
///
/// Done by libfuse for a session that serves nothing, so that the process that mounts and the one
/// that serves can be two.
package enum Mounting {
  /// Mounts with the text for `-o`; requests wait until somebody serves them.
  package static func mount(
    at mountPoint: String, options: String
  ) throws(MountError) -> MountedDevice {
    let folder: Descriptor
    let path: String
    do throws(Errno) {
      // Absolute: a daemon changes to "/".
      path = try System.realPath(mountPoint)
      folder = try System.open(path, [.directory, .noFollow, .path])
    } catch { throw .badMountPoint(error) }
    return try mount(over: folder, at: path, options: options)
  }

  /// The same over a folder that is open already, wherever a path to it leads by now; `path` is
  /// absolute and without links, and what the folder has to have when it is mounted.
  ///
  /// Root mounts over the folder itself. For a user it is done by fusermount3(1), which takes a
  /// path and mounts only where that user may write.
  package static func mount(
    over folder: borrowing Descriptor, at path: String, options: String
  ) throws(MountError) -> MountedDevice {
    coffre_fuse_silence()
    let fuse = unsafe Glibc.open("/dev/fuse", O_RDWR | O_CLOEXEC)
    guard fuse >= 0 else { throw .noDevice(.current) }
    close(fuse)
    var table = fuse_lowlevel_ops()
    let session = unsafe try makeSession(options, &table, nil)
    defer { unsafe fuse_session_destroy(session) }
    let place = "/proc/\(getpid())/fd/\(folder.rawValue)"
    errno = 0
    guard unsafe fuse_session_mount(session, geteuid() == 0 ? place : path) == 0 else {
      let failure = Errno.current
      throw .refused(failure.rawValue == 0 ? .notPermitted : failure)
    }
    let now = System.path(of: folder)
    // Without its device the mount could not be taken away again.
    guard let device = MountTable.own(at: now ?? path)?.device,
      let connection = unsafe try? System.duplicate(fuse_session_fd(session))
    else {
      if geteuid() == 0 {
        _ = unsafe umount2(now ?? path, 8 /* UMOUNT_NOFOLLOW */ | 2 /* MNT_DETACH */)
      } else {
        unsafe fuse_session_unmount(session)
      }
      throw .refused(.noSuchFile)
    }
    let mounted = MountedDevice(connection, device: device)
    // The folder was moved meanwhile: nobody would find the mount where it was asked for.
    guard now.map({ $0.hasSameBytes(as: path) }) ?? true else {
      Unmount.run(device, lazily: true)
      throw .badMountPoint(.noSuchFile)
    }
    return mounted
  }

  /// A session with the text for `-o`; `data` goes to its operations.
  @unsafe
  static func makeSession(
    _ options: String, _ table: inout fuse_lowlevel_ops, _ data: UnsafeMutableRawPointer?
  ) throws(MountError) -> OpaquePointer {
    var arguments = unsafe fuse_args()
    defer { unsafe fuse_opt_free_args(&arguments) }
    for word in ["coffre", "-o", options] {
      unsafe fuse_opt_add_arg(&arguments, word)
    }
    guard let session = unsafe coffre_fuse_session_new(&arguments, &table, data) else {
      throw .badOptions
    }
    return unsafe session
  }
}
