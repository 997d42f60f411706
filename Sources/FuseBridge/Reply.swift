internal import Bytes
internal import CFuse3
internal import Glibc
internal import POSIX
internal import Volume

/// The answer to one request of the kernel, given exactly once.
///
/// A second answer does not compile; a forgotten one traps in debug builds and is EIO in release
/// builds, because a request without an answer hangs the calling program for ever. Answers go out
/// after every lock is dropped: an answer may be the kernel's last need of an inode, and the forget
/// that follows can arrive on another thread before the call returns.
///
/// The methods that hand something to the kernel say whether it took it. It does not where the
/// connection is gone (ENOENT from fuse_reply_*); then no forget or release will follow.
@safe
struct Reply: ~Copyable {
  private let request: fuse_req_t

  init(_ request: fuse_req_t?) {
    guard let request = unsafe request else { preconditionFailure("a request without a handle") }
    unsafe self.request = request
  }

  deinit {
    assertionFailure("a request was not answered")
    unsafe fuse_reply_err(request, EIO)
  }

  /// Whether who asks has a group among the supplementary ones, which no request carries: libfuse
  /// reads them in /proc. No, where it cannot.
  func isAskedByMember(of group: UInt32) -> Bool {
    var groups = [gid_t](repeating: 0, count: 1 << 16)
    let count = unsafe fuse_req_getgroups(request, Int32(groups.count), &groups)
    return groups.prefix(max(0, min(Int(count), groups.count))).contains(group)
  }

  consuming func error(_ errno: Errno) {
    unsafe fuse_reply_err(request, errno.rawValue)
    discard self
  }

  consuming func done() {
    unsafe fuse_reply_err(request, 0)
    discard self
  }

  /// For forget, which the kernel does not wait for.
  consuming func none() {
    unsafe fuse_reply_none(request)
    discard self
  }

  consuming func entry(_ attributes: Attributes) -> Bool {
    var entry = fuse_entry_param(attributes)
    let taken = unsafe fuse_reply_entry(request, &entry) == 0
    discard self
    return taken
  }

  /// That a name is absent, which the kernel may remember for a moment.
  consuming func noEntry() {
    var entry = fuse_entry_param()
    entry.entry_timeout = CacheLifetime.absentName
    unsafe fuse_reply_entry(request, &entry)
    discard self
  }

  consuming func created(_ attributes: Attributes, _ handle: Handle) -> Bool {
    var entry = fuse_entry_param(attributes)
    var info = fuse_file_info(handle)
    let taken = unsafe fuse_reply_create(request, &entry, &info) == 0
    discard self
    return taken
  }

  consuming func opened(_ handle: Handle) -> Bool {
    var info = fuse_file_info(handle)
    let taken = unsafe fuse_reply_open(request, &info) == 0
    discard self
    return taken
  }

  consuming func attributes(
    _ attributes: Attributes, _ lifetime: Double = CacheLifetime.attributes
  ) {
    var status = stat(attributes)
    unsafe fuse_reply_attr(request, &status, lifetime)
    discard self
  }

  consuming func data(_ bytes: RawSpan) {
    unsafe bytes.withUnsafeBytes { source in
      _ = unsafe fuse_reply_buf(
        request, source.baseAddress?.assumingMemoryBound(to: CChar.self), source.count)
    }
    discard self
  }

  /// The same for a listing with attributes, which is worth knowing whether it arrived.
  consuming func listing(_ bytes: RawSpan) -> Bool {
    let taken = unsafe bytes.withUnsafeBytes { source in
      unsafe fuse_reply_buf(
        request, source.baseAddress?.assumingMemoryBound(to: CChar.self), source.count) == 0
    }
    discard self
    return taken
  }

  consuming func data(_ bytes: [UInt8]) { unsafe data(bytes.span.bytes) }

  consuming func link(_ target: [UInt8]) {
    unsafe (target + [0]).withUnsafeBufferPointer { text in
      _ = unsafe text.withMemoryRebound(to: CChar.self) {
        unsafe fuse_reply_readlink(request, $0.baseAddress)
      }
    }
    discard self
  }

  consuming func written(_ count: Int) {
    unsafe fuse_reply_write(request, count)
    discard self
  }

  consuming func position(_ offset: UInt64) {
    unsafe fuse_reply_lseek(request, off_t(clamping: offset))
    discard self
  }

  /// The length of an attribute or a list, to a caller who asked for nothing else.
  consuming func length(_ count: Int) {
    unsafe fuse_reply_xattr(request, count)
    discard self
  }

  consuming func space(_ space: VolumeSpace) {
    var status = statvfs(space)
    unsafe fuse_reply_statfs(request, &status)
    discard self
  }

  /// Puts the duty to answer into a value that can wait in a queue; whoever takes it out of there
  /// makes a reply of it again.
  consuming func postponed() -> PostponedReply {
    let postponed = unsafe PostponedReply(request: request)
    discard self
    return postponed
  }
}

/// A request that is answered later by another thread; libfuse allows any thread to answer.
@safe
struct PostponedReply: @unchecked Sendable {
  fileprivate let request: fuse_req_t
  var reply: Reply { unsafe Reply(request) }
}
