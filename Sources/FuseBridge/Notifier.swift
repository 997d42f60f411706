internal import POSIX
internal import Volume

/// The thread that tells the kernel to drop pages on behalf of workers, which must not do so.
final class Notifier: Sendable {
  private enum Job {
    case work(@Sendable () -> Void)
    case end
  }

  private struct Queue {
    var jobs: [Job] = []
    /// Ranges to drop, joined for each inode, so that a thousand failed writes do not queue up.
    var ranges: [InodeNumber: Range<UInt64>] = [:]
    var thread: Thread?
  }

  private let kernel: Kernel
  private let queue = Lock(Queue())
  /// Jobs and joined ranges that were put in, less those taken out.
  private let waiting = Monitor(0)

  init(kernel: Kernel) { self.kernel = kernel }

  func start() throws(Errno) {
    let thread = try Thread.start("coffre-notify") { self.run() }
    queue.withLock { $0.thread = thread }
  }

  /// Drops a range of an inode's pages soon.
  ///
  /// After a failed write: the pages hold what the store lacks, and count as clean.
  func drop(_ inode: InodeNumber, _ range: Range<UInt64>) {
    queue.withLock { queue in
      if let old = queue.ranges[inode] {
        queue.ranges[inode] =
          Swift.min(old.lowerBound, range.lowerBound)..<Swift.max(old.upperBound, range.upperBound)
      } else {
        queue.ranges[inode] = range
      }
    }
    waiting.withLock { $0 += 1 }
  }

  /// Runs something that needs pages written back, and so must not run on a worker.
  func run(_ work: @escaping @Sendable () -> Void) {
    queue.withLock { $0.jobs.append(.work(work)) }
    waiting.withLock { $0 += 1 }
  }

  /// Ends the thread once everything queued is done.
  func finish() {
    queue.withLock { $0.jobs.append(.end) }
    waiting.withLock { $0 += 1 }
    let thread = queue.withLock { queue in
      defer { queue.thread = nil }
      return queue.thread
    }
    thread?.join()
  }

  private func run() {
    while true {
      waiting.withLock(when: { $0 > 0 }, timeout: nil) { $0 -= 1 }
      let (ranges, job) = queue.withLock { queue in
        defer { queue.ranges = [:] }
        return (queue.ranges, queue.jobs.isEmpty ? nil : queue.jobs.removeFirst())
      }
      for (inode, range) in ranges {
        kernel.invalidate(inode, from: range.lowerBound, count: UInt64(range.count))
      }
      switch job {
      case .work(let work): work()
      case .end: return
      case nil: break
      }
    }
  }
}
