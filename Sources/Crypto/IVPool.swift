import CCrypto
import POSIX

/// IVs of one call of the generator: a call for each would cost as much as a kilobyte.
///
/// None is given twice: each is wiped as it is taken, and a fork finds zeros where its parent has
/// the pool, so it counts none.
@safe
struct IVPool: ~Copyable {
  static let capacity = 1024
  /// Nanoseconds after which what is left is dropped.
  static let lifetime: UInt64 = 1_000_000_000

  /// The number of IVs left and the time they were drawn, 8 bytes each, then the IVs.
  private let pages = LockedPages(size: Self.start + Self.capacity * IV.byteCount)
  private static let start = 16

  private(set) var count: Int {
    get { unsafe pages.base.load(as: Int.self) }
    set { unsafe pages.base.storeBytes(of: newValue, as: Int.self) }
  }

  private var drawn: UInt64 {
    get { unsafe pages.base.load(fromByteOffset: 8, as: UInt64.self) }
    set { unsafe pages.base.storeBytes(of: newValue, toByteOffset: 8, as: UInt64.self) }
  }

  mutating func next() -> IV {
    let now = Clock.monotonic
    if count == 0 || now &- drawn > Self.lifetime { refill(now) }
    let left = count - 1
    let place = unsafe pages.base + Self.start + left * IV.byteCount
    let iv = unsafe IV(
      high: UInt64(littleEndian: place.loadUnaligned(as: UInt64.self)),
      low: UInt32(littleEndian: place.loadUnaligned(fromByteOffset: 8, as: UInt32.self)))
    unsafe place.storeBytes(of: 0, as: UInt64.self)
    unsafe place.storeBytes(of: 0, toByteOffset: 8, as: UInt32.self)
    count = left
    return iv
  }

  private mutating func refill(_ now: UInt64) {
    // Where a fork would have the same, one at a time.
    let count = pages.isWipedOnFork ? Self.capacity : 1
    var span = unsafe MutableRawSpan(
      _unsafeStart: pages.base + Self.start, byteCount: count * IV.byteCount)
    Random.fill(&span)
    self.count = count
    drawn = now
  }

  mutating func wipe() {
    unsafe OPENSSL_cleanse(pages.base, Self.start + Self.capacity * IV.byteCount)
  }
}
