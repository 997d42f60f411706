import Synchronization

internal import CFuse3
internal import Glibc
package import POSIX
internal import Volume

extension MountSession {
  /// Locks: unmounts, with nothing lost that an application has written, and nothing left in the
  /// kernel of what it has read.
  ///
  /// 1. Everything is served, and pages are written back. If the mount is not in use then, a plain
  ///    unmount takes everything along. It does not where the filesystem lives on, in a file that
  ///    is open, in a bind mount, in another mount namespace. This has its fixed time: a program
  ///    that writes all the time would make it last for ever.
  /// 2. Whatever a program begins is refused: opens, reads, looks, and the question for attributes
  ///    without which the kernel takes nothing more of a write(2). What was begun before comes to
  ///    its end, since its answer gives the kernel attributes to believe. What the kernel has
  ///    taken before is still written back, until a whole round of dropping pages brings up none
  ///    that is dirty.
  /// 3. Nothing is served. Once what is under way has its answer, pages are dropped again, then
  ///    names.
  ///
  /// `seal` is called (checkpoint, wipe keys); every mount this process sees is detached, unless
  /// another one hides it, and the workers end. Whoever still has a file open gets EACCES, then
  /// ENOTCONN, SIGBUS from a mapping. A write-back that fails at any stage is kept for
  /// `writeBackFailure`. It all ends in bounded time, also where the lower filesystem hangs: see
  /// `isCut` and `isStuck`.
  ///
  /// Returns once `run` is over or stuck; false if somebody else is at it already. Not for workers.
  /// libfuse's own signal handling is not used: it leaves the loop before it unmounts, and dirty
  /// pages have nobody to go to.
  @discardableResult
  package func stop(isHurried: Bool = false, seal: () -> Void = {}) -> Bool {
    let isFirst = stopping.withLock { isStopping in
      defer { isStopping = true }
      return !isStopping
    }
    // Also one that comes second: the machine does not wait for longer because of the first.
    if isHurried { hurries.store(true, ordering: .relaxed) }
    guard isFirst else { return hasEnded }
    defer { stopping.withLock { $0 = false } }
    if hasEnded { return true }
    bridge.writeBackFailure.withLock { $0 = nil }
    progress.restart()
    let flush = Step("coffre-flush") { [self] in
      writeBack()
      if bridge.stage == .serving, bridge.kernel.isConnected { unmount(lazily: false) }
    }
    let isFlushed = waitGently(for: flush)
    // The filesystem went with its last mount, at once, or it is still there for somebody.
    if isFlushed, !bridge.kernel.isConnected {
      seal()
      endWorkers()
      return true
    }
    lockKernel(after: flush)
    seal()
    // A device number is ours only as long as the filesystem is there.
    if bridge.kernel.isConnected || isCut {
      unmount(lazily: true)
    }
    endWorkers()
    return true
  }

  /// For how long pages are written back while everything is still served, in nanoseconds.
  private static let gentleTime: UInt64 = 10_000_000_000
  /// The same where the machine is about to sleep or to end.
  private static let hurriedTime: UInt64 = 1_500_000_000
  /// For how long the keeper is waited for while nothing moves, the first time.
  private var keeperTime: UInt64 {
    if isKeeperSilent.load(ordering: .relaxed) { return 100_000_000 }
    return hurries.load(ordering: .relaxed) ? 1_000_000_000 : 5_000_000_000
  }

  private var patience: UInt64 { UInt64(bridge.options.patience * 1e9) }

  /// Why not everything that programs had written could be kept, by the last `stop`.
  package var writeBackFailure: Errno? { bridge.writeBackFailure.withLock { $0 } }

  /// Waits for a step of the end as long as anything moves. False, with the step left behind, once
  /// nothing has for `patience`: it waits for the lower filesystem then.
  package func wait(for step: Step) -> Bool {
    let isDone = { step.wait(nanoseconds: $0) }
    // Where it hung before, a little time is left for it to come back.
    return isCut
      ? progress.wait(patience: patience / 6, grace: patience / 12, until: isDone)
      : progress.wait(patience: patience, until: isDone)
  }

  private func waitGently(for flush: Step) -> Bool {
    let start = Clock.monotonic
    while !flush.wait(nanoseconds: 50_000_000) {
      let time = hurries.load(ordering: .relaxed) ? Self.hurriedTime : Self.gentleTime
      if Clock.monotonic - start >= min(time, patience) { return false }
    }
    return true
  }

  func unmount(lazily: Bool) {
    ask { [keeper, device] in keeper.unmount(device, lazily: lazily) }
  }

  /// Has the keeper do something, and waits as long as anything moves. It is another process, which
  /// may be stopped, or wait for a folder on a disk that is not the vault's: without it all is
  /// written and wiped as well, and the command that locks takes the dead mount away.
  private func ask(_ work: @escaping @Sendable () -> Void) {
    let step = Step("coffre-ask", work)
    let limit = min(patience, keeperTime)
    let isDone = progress.wait(patience: limit, grace: limit) { step.wait(nanoseconds: $0) }
    if !isDone { isKeeperSilent.store(true, ordering: .relaxed) }
  }

  /// Takes every byte of plaintext and every name from the kernel; dirty ones go to the volume
  /// first.
  private func lockKernel(after flush: Step) {
    let names = Lock<[[UInt8]]>([])
    bridge.enter(.refusingStarts)
    let drop = Step("coffre-drop") { [self] in
      // Before anything that waits: the kernel asks for them again before the next write(2).
      for inode in bridge.known.all { bridge.kernel.invalidateAttributes(inode) }
      // It walks a file that has grown before it all the time; now it comes to an end.
      while !flush.wait(nanoseconds: 1_000_000_000) { if isCut { return } }
      while bridge.hasRequests(before: .refusingStarts), !isCut { usleep(1000) }
      dropUntilClean()
      let found = namesInRoot()
      names.withLock { $0 = found }
    }
    if !wait(for: drop) { cut() }
    bridge.enter(.refusingAll)
    let end = Step("coffre-drop") { [self] in
      // One that is stuck for longer than this is waited for finds the volume closed.
      while bridge.hasRequests(before: .refusingAll) { usleep(1000) }
      dropCaches()
      for name in names.withLock({ $0 }) { bridge.kernel.invalidate(name, in: .root) }
    }
    if !wait(for: end) { cut() }
  }

  /// Drops every page until that makes the kernel write nothing back any more: a page that was
  /// dirtied again meanwhile stays where it is.
  ///
  /// A write(2) that was let in goes on, page by page, and sleeps up to 200 ms between two of them
  /// where it is too fast for the disk (MAX_PAUSE in mm/page-writeback.c). So as long as files are
  /// open for writing, nothing counts but half a second of quiet.
  private func dropUntilClean() {
    var quiet = 0
    for _ in 1...600 where !isCut {
      let before = bridge.writeBacks.load(ordering: .sequentiallyConsistent)
      dropCaches()
      let after = bridge.writeBacks.load(ordering: .sequentiallyConsistent)
      quiet = after == before ? quiet + 1 : 0
      if quiet > (bridge.known.haveWriters ? 5 : 0) { return }
      usleep(100_000)
    }
  }

  /// Names right below the root: the kernel forgets whole trees below them.
  private func namesInRoot() -> [[UInt8]] {
    var names: [[UInt8]] = []
    try? bridge.volume.readDirectory(.root, after: 0) { entry in
      names.append(entry.name)
      return true
    }
    return names
  }

  /// Writes back and drops every page, and forgets attributes, of every inode the kernel knows.
  package func dropCaches() {
    for inode in bridge.known.all { bridge.kernel.invalidate(inode) }
  }

  /// Writes back pages and times, syncfs(2), then drops what came up meanwhile.
  ///
  /// Where no mount is seen, or nobody does that, pages are written back all the same, by dropping
  /// them: one by one, which is slower.
  private func writeBack() {
    ask { [keeper, device] in keeper.synchronize(device) }
    dropCaches()
  }

  /// Gives up what waits for a worker that waits for the lower filesystem: the connection is cut,
  /// or the process could not even be killed, since a write-back waits without end.
  ///
  /// The kernel drops its dirty pages, and sends no request that would tell of them: so it counts
  /// as a failure of the lock that nothing was kept of.
  private func cut() {
    guard wasCut.exchange(true, ordering: .relaxed) == false else { return }
    bridge.noteWriteBackFailure(.ioError)
    _ = Step("coffre-cut") { [self] in keeper.abort(device) }.wait(nanoseconds: 2_000_000_000)
  }

  /// Whether `stop` has cut the connection because the lower filesystem did not answer.
  package var isCut: Bool { wasCut.load(ordering: .relaxed) }
}
