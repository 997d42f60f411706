import CSystem
import Glibc

/// Anonymous memory that is not swapped out, not dumped and zero in a forked process, mlock(2) and
/// madvise(2). Never given back.
@safe
struct LockedPages: @unchecked Sendable {
  let base: UnsafeMutableRawPointer
  /// False where RLIMIT_MEMLOCK is too small.
  let isLocked: Bool
  /// False where the kernel knows no such advice.
  let isWipedOnFork: Bool

  /// Zeros.
  init(size: Int) {
    let address = unsafe mmap(
      nil, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
    guard let address = unsafe address, unsafe address != MAP_FAILED else {
      preconditionFailure("no memory for a secret")
    }
    unsafe base = address
    isLocked = unsafe coffre_mlock(address, size) == 0
    isWipedOnFork = unsafe coffre_advise_secret(address, size) == 2
  }
}
