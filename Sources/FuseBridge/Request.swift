internal import CFuse3
internal import Glibc
internal import POSIX
internal import Volume

/// Bytes borrowed from a request: a name, a link's target, the value of an attribute.
///
/// They are copied into an array where they are needed, since the volume keeps names.
@safe
struct Name {
  private let start: UnsafePointer<CChar>?
  private let count: Int

  init(_ text: UnsafePointer<CChar>?) {
    let length = if let text = unsafe text { unsafe strlen(text) } else { 0 }
    unsafe self.init(text, length)
  }

  init(_ start: UnsafePointer<CChar>?, _ count: Int) {
    unsafe self.start = start
    self.count = count
  }

  var bytes: [UInt8] {
    unsafe [UInt8](UnsafeRawBufferPointer(start: start, count: count))
  }
}

extension FileName {
  init(_ name: Name) throws(VolumeError) { try self.init(name.bytes) }
}

extension Caller {
  /// Who asks, of fuse_req_ctx. For write-backs these ids mean nothing.
  init(_ request: fuse_req_t?) {
    guard let context = unsafe fuse_req_ctx(request) else {
      preconditionFailure("a request without a context")
    }
    unsafe self.init(
      user: context.pointee.uid, group: context.pointee.gid, mask: context.pointee.umask)
  }
}

extension UInt64 {
  /// An offset of the kernel, which is never negative.
  init(offset: off_t) throws(VolumeError) {
    guard offset >= 0 else { throw .system(.invalid) }
    self.init(offset)
  }
}
