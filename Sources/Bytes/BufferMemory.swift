import Glibc

/// Where buffers get their memory from: pages from a pool, since most are 4096 bytes and live for a
/// moment; all else from malloc(3).
///
/// Every piece is zero when it is given out. A page is wiped when it comes back, so it is zero
/// again, and nothing is done twice.
@safe
enum BufferMemory {
  static let page = 4096
  /// A slab is asked for at once: 256 KiB.
  private static let slabPages = 64
  /// Free pages that stay in memory, 16 MiB; of those beyond the kernel takes the memory back.
  private static let kept = 4096

  @safe private struct Pool: @unchecked Sendable {
    var free: [UnsafeMutableRawPointer] = unsafe []
    /// Free pages that hold no memory, and read as zeros.
    var released: [UnsafeMutableRawPointer] = unsafe []
  }

  /// This module knows no lock but the library's.
  nonisolated(unsafe) private static var pool = Pool()
  @safe private struct Mutex: @unchecked Sendable {
    let pointer: UnsafeMutablePointer<pthread_mutex_t>
    init() {
      unsafe pointer = .allocate(capacity: 1)
      unsafe pthread_mutex_init(pointer, nil)
    }
  }
  private static let mutex = Mutex()

  /// `count` zero bytes, aligned to 4096 if they are as many.
  static func allocate(_ count: Int) -> UnsafeMutableRawPointer {
    if count == page { return unsafe allocatePage() }
    guard count > page else {
      guard let memory = unsafe calloc(1, max(count, 1)) else { preconditionFailure("no memory") }
      return unsafe memory
    }
    var memory: UnsafeMutableRawPointer?
    guard unsafe posix_memalign(&memory, page, count) == 0, let memory = unsafe memory else {
      preconditionFailure("no memory")
    }
    unsafe memset(memory, 0, count)
    return unsafe memory
  }

  /// Wipes and gives back.
  static func release(_ memory: UnsafeMutableRawPointer, _ count: Int) {
    unsafe explicit_bzero(memory, count)
    guard count == page else { return unsafe free(memory) }
    unsafe pthread_mutex_lock(mutex.pointer)
    defer { unsafe pthread_mutex_unlock(mutex.pointer) }
    if unsafe pool.free.count < kept {
      unsafe pool.free.append(memory)
    } else {
      unsafe madvise(memory, page, MADV_DONTNEED)
      unsafe pool.released.append(memory)
    }
  }

  private static func allocatePage() -> UnsafeMutableRawPointer {
    unsafe pthread_mutex_lock(mutex.pointer)
    defer { unsafe pthread_mutex_unlock(mutex.pointer) }
    if let memory = unsafe pool.free.popLast() { return unsafe memory }
    if let memory = unsafe pool.released.popLast() { return unsafe memory }
    let size = slabPages * page
    let slab = unsafe mmap(nil, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
    guard let slab = unsafe slab, unsafe slab != MAP_FAILED else {
      preconditionFailure("no memory")
    }
    // Plaintext passes through them.
    unsafe madvise(slab, size, 16)  // MADV_DONTDUMP
    for index in (1..<slabPages).reversed() { unsafe pool.free.append(slab + index * page) }
    return unsafe slab
  }
}
