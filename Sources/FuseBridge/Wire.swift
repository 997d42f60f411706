internal import CFuse3
internal import Glibc
internal import Synchronization

/// The little we add to what libfuse reads and writes on the device.
///
/// FUSE_HANDLE_KILLPRIV_V2 (Linux 5.11, protocol 7.33) lets the kernel remember that a file has
/// neither set-uid bits nor capabilities. Without it, with extended attributes, every write(2) into
/// the page cache first sends a GETXATTR for `security.capability` and waits (file_remove_privs in
/// fs/inode.c). libfuse 3.14 cannot ask for it, so its bit is set in the answer to INIT on the way
/// out, and the flags that come with it are read from the requests (shim.h). Later versions may
/// set the bit themselves: the effect is the same.
enum Wire {
  static func install(_ session: OpaquePointer) -> Bool {
    unsafe coffre_fuse_custom_io(
      session,
      { device, memory, count, _ in unsafe Glibc.read(device, memory, count) },
      { device, parts, count, userData in
        unsafe Wire.send(device, parts, count, Bridge.of(userData))
      }) == 0
  }

  /// Looks at INIT before libfuse does.
  static func note(_ request: fuse_buf, _ bridge: Bridge) {
    let offers = unsafe coffre_fuse_init_offers_killpriv(request.mem, request.size) != 0
    bridge.takesKillPriv.store(offers, ordering: .relaxed)
    bridge.isNegotiating.store(true, ordering: .relaxed)
  }

  /// Nothing but the answer to INIT is sent while `isNegotiating` is set.
  fileprivate static func send(
    _ device: Int32, _ parts: UnsafeMutablePointer<iovec>?, _ count: Int32, _ bridge: Bridge
  ) -> Int {
    guard bridge.isNegotiating.load(ordering: .relaxed) else {
      return unsafe writev(device, parts, count)
    }
    bridge.isNegotiating.store(false, ordering: .relaxed)
    if bridge.takesKillPriv.load(ordering: .relaxed) {
      unsafe coffre_fuse_init_take_killpriv(parts, count)
    }
    let sent = unsafe writev(device, parts, count)
    let isAgreed = unsafe sent > 0 && coffre_fuse_is_success(parts, count) != 0
    bridge.isAgreed.store(isAgreed, ordering: .relaxed)
    return sent
  }
}
