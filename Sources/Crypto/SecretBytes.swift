import CCrypto
import CSystem
import Glibc
package import POSIX

/// Bytes that must not leave memory: locked, kept out of dumps and forks, wiped when released.
///
/// Not copyable, so that there is one place to wipe; `clone` makes another on purpose.
@safe
package struct SecretBytes: ~Copyable, @unchecked Sendable {
  private let base: UnsafeMutableRawPointer
  package let count: Int

  /// `count` zero bytes.
  package init(count: Int) {
    precondition(count > 0 && count <= SecretMemory.largest)
    self.count = count
    unsafe base = SecretMemory.shared.withLock { unsafe $0.allocate(count) }
  }

  /// Fresh random bytes.
  package init(random count: Int) {
    self.init(count: count)
    var span = mutableBytes
    Random.fill(&span)
  }

  package init(copying bytes: RawSpan) {
    self.init(count: bytes.byteCount)
    unsafe bytes.withUnsafeBytes { source in
      if let start = source.baseAddress {
        unsafe base.copyMemory(from: start, byteCount: source.count)
      }
    }
  }

  deinit {
    unsafe OPENSSL_cleanse(base, count)
    SecretMemory.shared.withLock { unsafe $0.release(base, count) }
  }

  package var bytes: RawSpan {
    @_lifetime(borrow self)
    get {
      let span = unsafe RawSpan(_unsafeStart: base, byteCount: count)
      return unsafe _overrideLifetime(span, borrowing: self)
    }
  }

  package var mutableBytes: MutableRawSpan {
    @_lifetime(&self)
    mutating get {
      let span = unsafe MutableRawSpan(_unsafeStart: base, byteCount: count)
      return unsafe _overrideLifetime(span, mutating: &self)
    }
  }

  /// Another secret of the same bytes.
  package func clone() -> SecretBytes { SecretBytes(copying: bytes) }

  /// The first `count` bytes, as a secret of its own.
  package func prefix(_ count: Int) -> SecretBytes {
    SecretBytes(copying: bytes.extracting(0..<count))
  }
}

/// Pages that hold secrets, cut into pieces of a power of two from 32 to 16384 bytes.
///
/// Thousands of file keys live at once, and a page is the least that can be locked.
@safe
package struct SecretMemory: ~Copyable {
  package static let shared = Lock(SecretMemory())
  static let largest = 16384
  private static let regionSize = 16384

  private var free: [Int: [UnsafeMutableRawPointer]] = unsafe [:]
  private var regions: [UnsafeMutableRawPointer] = unsafe []
  /// Whether every page so far could be locked, mlock(2); RLIMIT_MEMLOCK may be small.
  package private(set) var isFullyLocked = true

  private init() {}

  private static func size(_ count: Int) -> Int {
    var size = 32
    while size < count { size *= 2 }
    return size
  }

  @unsafe
  mutating func allocate(_ count: Int) -> UnsafeMutableRawPointer {
    let size = Self.size(count)
    if let piece = unsafe free[size]?.popLast() { return unsafe piece }
    let region = unsafe map()
    unsafe regions.append(region)
    var pieces: [UnsafeMutableRawPointer] = unsafe []
    var offset = Self.regionSize - size
    while offset > 0 {
      unsafe pieces.append(region + offset)
      offset -= size
    }
    unsafe free[size, default: []] += pieces
    return unsafe region
  }

  @unsafe
  mutating func release(_ base: UnsafeMutableRawPointer, _ count: Int) {
    unsafe free[Self.size(count), default: []].append(base)
  }

  /// Cleanses every secret there is, whoever holds it.
  func cleanse() {
    unsafe regions.forEach { unsafe OPENSSL_cleanse($0, Self.regionSize) }
  }

  /// Memory no other process can read: memfd_secret(2) where the kernel has it, else locked
  /// anonymous memory.
  @unsafe
  private mutating func map() -> UnsafeMutableRawPointer {
    let size = Self.regionSize
    let secret = coffre_memfd_secret()
    if secret >= 0 {
      defer { close(secret) }
      if ftruncate(secret, size) == 0 {
        let address = unsafe mmap(nil, size, PROT_READ | PROT_WRITE, MAP_SHARED, secret, 0)
        if let address = unsafe address, unsafe address != MAP_FAILED {
          // Such pages are locked by nature; a fork shares them, but only its own children have it.
          unsafe madvise(address, size, 10 /* MADV_DONTFORK */)
          return unsafe address
        }
      }
    }
    let pages = LockedPages(size: size)
    if !pages.isLocked { isFullyLocked = false }
    return unsafe pages.base
  }
}
