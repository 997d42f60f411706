internal import CFuse3
internal import Glibc
internal import POSIX
internal import Synchronization
internal import Volume

/// The kernel's caches of this mount, as far as they can be told to let go.
///
/// Invalidating writes dirty pages back first, and the WRITEs come to our own workers. So it is
/// never done by a worker, nor with any lock held, nor once the workers have gone: whoever ends
/// them calls `close` before.
@safe
final class Kernel: Sendable {
  @safe private struct State: @unchecked Sendable {
    var session: OpaquePointer?
    var calls = 0
  }

  private let state = Lock(State())
  /// Calls that have come to their end: a sign that things move. Of pages only: nothing else ever
  /// waits.
  private let finished = Atomic<Int>(0)
  var finishedCalls: Int { finished.load(ordering: .relaxed) }

  func open(_ session: OpaquePointer) { state.withLock { unsafe $0.session = session } }

  /// Ends all invalidation: no new call starts, and `isIdle` says whether those under way have
  /// returned.
  func close() { state.withLock { unsafe $0.session = nil } }
  var isIdle: Bool { state.withLock { $0.calls } == 0 }

  /// Writes back and drops the pages of a range, which unmaps them as well, and forgets attributes.
  /// A zero count means up to the end.
  func invalidate(_ inode: InodeNumber, from offset: UInt64 = 0, count: UInt64 = 0) {
    unsafe call { session in
      let offset = off_t(clamping: offset)
      let count = off_t(clamping: count)
      return unsafe fuse_lowlevel_notify_inval_inode(
        session, fuse_ino_t(inode.rawValue), offset, count)
    }
    finished.wrappingAdd(1, ordering: .relaxed)
  }

  /// Forgets attributes alone. Pages are left out by a negative offset, so nothing is written back,
  /// and a worker may do it (fuse_reverse_inval_inode in fs/fuse/inode.c).
  func invalidateAttributes(_ inode: InodeNumber) {
    unsafe call { session in
      unsafe fuse_lowlevel_notify_inval_inode(session, fuse_ino_t(inode.rawValue), -1, 0)
    }
  }

  /// Forgets a name and, if it is a directory, all below it (d_invalidate in fs/dcache.c).
  func invalidate(_ name: [UInt8], in parent: InodeNumber) {
    unsafe call { session in
      unsafe (name + [0]).withUnsafeBufferPointer { text in
        unsafe text.withMemoryRebound(to: CChar.self) {
          unsafe fuse_lowlevel_notify_inval_entry(
            session, fuse_ino_t(parent.rawValue), $0.baseAddress, name.count)
        }
      }
    }
  }

  /// Whether the filesystem is there for anybody, and nobody has called `close`.
  var isConnected: Bool {
    state.withLock { state in
      guard let session = unsafe state.session else { return false }
      return unsafe Self.isConnected(session)
    }
  }

  /// Whether the filesystem is there for anybody: a mount somewhere, a file that is open.
  ///
  /// The kernel cuts the connection before it lets go of the device number (fuse_conn_destroy in
  /// fs/fuse/inode.c), and says so by POLLERR.
  static func isConnected(_ session: OpaquePointer) -> Bool {
    var device = unsafe pollfd(fd: fuse_session_fd(session), events: 0, revents: 0)
    // A signal that is pending interrupts it, whatever the connection is.
    while unsafe poll(&device, 1, 0) < 0 { guard errno == EINTR else { return false } }
    return Int32(device.revents) & POLLERR == 0
  }

  /// What the kernel answers does not matter: ENOENT means it does not know the inode, any other
  /// number that the mount is gone.
  private func call(_ body: (OpaquePointer) -> Int32) {
    let session = unsafe state.withLock { state in
      if unsafe state.session != nil { state.calls += 1 }
      return unsafe state.session
    }
    guard let session = unsafe session else { return }
    _ = unsafe body(session)
    state.withLock { $0.calls -= 1 }
  }
}
