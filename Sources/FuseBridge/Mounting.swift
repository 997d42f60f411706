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
    coffre_fuse_silence()
    let mountPoint = try checked(mountPoint)
    var table = fuse_lowlevel_ops()
    let session = unsafe try makeSession(options, &table, nil)
    defer { unsafe fuse_session_destroy(session) }
    errno = 0
    guard unsafe fuse_session_mount(session, mountPoint) == 0 else {
      let failure = Errno.current
      throw .refused(failure.rawValue == 0 ? .notPermitted : failure)
    }
    // Without its device the mount could not be taken away again.
    guard let device = MountTable.own(at: mountPoint)?.device,
      let connection = unsafe try? System.duplicate(fuse_session_fd(session))
    else {
      unsafe fuse_session_unmount(session)
      throw .refused(.noSuchFile)
    }
    return MountedDevice(connection, device: device)
  }

  /// A directory, and its absolute path: a daemon changes to "/".
  private static func checked(_ mountPoint: String) throws(MountError) -> String {
    let device = unsafe Glibc.open("/dev/fuse", O_RDWR | O_CLOEXEC)
    guard device >= 0 else { throw .noDevice(.current) }
    close(device)
    guard let path = unsafe realpath(mountPoint, nil) else { throw .badMountPoint(.current) }
    defer { unsafe free(path) }
    var status = stat()
    guard unsafe stat(path, &status) == 0 else { throw .badMountPoint(.current) }
    guard status.st_mode & S_IFMT == S_IFDIR else { throw .badMountPoint(.notDirectory) }
    return unsafe String(cString: path)
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
