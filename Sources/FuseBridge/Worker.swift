internal import Bytes
internal import CFuse3
internal import Glibc
internal import Synchronization

/// What one thread that serves requests owns: buffers, and what libfuse does not hand on of the
/// request at hand. Found again by the callbacks through a thread-specific slot,
/// pthread_key_create(3).
@safe
final class Worker {
  private static let slot: pthread_key_t = {
    var key = pthread_key_t()
    let failure = unsafe pthread_key_create(&key, nil)
    precondition(failure == 0, "no thread-specific slot left")
    return key
  }()

  /// The worker of this thread; callbacks run on workers only.
  static var current: Worker {
    guard let worker = unsafe pthread_getspecific(slot) else {
      preconditionFailure("a request outside of the workers")
    }
    return unsafe Unmanaged<Worker>.fromOpaque(worker).takeUnretainedValue()
  }

  /// Whether the request asks to clear set-uid and set-gid bits.
  private(set) var clearsSetID = false
  /// The stage the request was let in at: it counts as under way until it is processed. Nil for one
  /// that was refused, which moves nothing.
  var admission: Bridge.Stage?
  /// Whether it counts as use of the mount until then.
  var isActive = false
  /// Plaintext on its way to the kernel. Grows to what is asked for; wiped when it goes.
  private var reading = Buffer(count: 128 << 10)
  /// libfuse's own buffer, allocated at the first request: plaintext on its way from the kernel.
  private var request = unsafe fuse_buf()
  /// Where libfuse has it.
  var requestMemory: UnsafeMutableRawPointer? {
    get { unsafe request.mem }
    set { unsafe request.mem = newValue }
  }
  /// The inode that what is in the two buffers belongs to, and how much of each it has filled.
  private var inode: UInt64 = 0
  private var readCount = 0
  private var requestCount = 0

  deinit {
    guard let memory = unsafe requestMemory else { return }
    unsafe explicit_bzero(memory, malloc_usable_size(memory))
    unsafe free(memory)
  }

  /// The thread's buffer, at least that large, aligned to 4096.
  func buffer(_ count: Int) -> Buffer {
    if reading.count < count { reading = Buffer(count: (count + 0xffff) & ~0xffff) }
    readCount = max(readCount, count)
    return reading
  }

  /// Wipes what the buffers have of another inode before a request for this one, which fills the
  /// first `count` bytes of the request's.
  func turn(to inode: UInt64, _ count: Int) {
    if inode != self.inode {
      reading.zero(0..<readCount)
      if let memory = unsafe requestMemory, requestCount > count {
        unsafe explicit_bzero(memory + count, requestCount - count)
      }
      self.inode = inode
      readCount = 0
      requestCount = 0
    }
    requestCount = max(requestCount, count)
  }

  /// Serves requests until the mount is gone, the session is told to exit, or `goesOn` says no.
  /// `started` is called after INIT, with whether it went well.
  func serve(
    _ session: OpaquePointer, _ bridge: Bridge, goesOn: () -> Bool,
    started: (Bool) -> Void
  ) {
    unsafe pthread_setspecific(Self.slot, Unmanaged.passUnretained(self).toOpaque())
    defer { pthread_setspecific(Self.slot, nil) }
    while goesOn(), unsafe fuse_session_exited(session) == 0 {
      let count = unsafe fuse_session_receive_buf(session, &request)
      if count == -EINTR || count == -EAGAIN { continue }
      guard count > 0 else { break }
      unsafe turn(to: coffre_fuse_inode(request.mem, request.size), Int(count))
      unsafe clearsSetID = coffre_fuse_kills_set_id(request.mem, request.size) != 0
      let isInit = unsafe coffre_fuse_opcode(request.mem, request.size) == FUSE_INIT.rawValue
      if isInit { unsafe Wire.note(request, bridge) }
      unsafe fuse_session_process_buf(session, &request)
      if isActive {
        isActive = false
        bridge.activity.finish()
      }
      if let stage = admission {
        admission = nil
        bridge.end(stage)
        bridge.activity.answered()
      }
      if isInit { started(bridge.isAgreed.load(ordering: .relaxed)) }
    }
  }
}
