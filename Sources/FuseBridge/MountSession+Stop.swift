import Synchronization

internal import CFuse3
internal import Glibc
package import POSIX
internal import Volume

extension MountSession {
  /// Locks: unmounts, with nothing lost that an application has written, and nothing left in the
  /// kernel of what it has read.
  ///
  /// Pages are written back while everything is still served. If the mount is not in use then, a
  /// plain unmount takes everything along. It does not where the filesystem lives on, in a file
  /// that is open, in a bind mount, in another mount namespace: then no new opens, all pages
  /// written back; no more reading, pages dropped, mappings with them; nothing served, pages
  /// dropped again, then names. `seal` is called (checkpoint, wipe keys); every mount this process
  /// sees is detached, unless another one hides it, and the workers end. Whoever still has a file
  /// open gets EACCES, then ENOTCONN, SIGBUS from a mapping. A step that is stuck for `patience`
  /// seconds is given up, see `within`.
  ///
  /// Returns once `run` is over; false if somebody else is at it already. Not for workers.
  /// libfuse's own signal handling is not used: it leaves the loop before it unmounts, and dirty
  /// pages have nobody to go to.
  @discardableResult
  package func stop(seal: @Sendable () -> Void = {}) -> Bool {
    let isFirst = stopping.withLock { isStopping in
      defer { isStopping = true }
      return !isStopping
    }
    guard isFirst else { return hasEnded }
    defer { stopping.withLock { $0 = false } }
    if hasEnded { return true }
    bridge.writeBackFailure.withLock { $0 = nil }
    within { $0.writeBack() }
    if bridge.kernel.isConnected { unmount(lazily: false) }
    // The filesystem went with its last mount, at once, or it is still there for somebody.
    guard bridge.kernel.isConnected || isCut.load(ordering: .relaxed) else {
      endWorkers()
      seal()
      return true
    }
    lockKernel()
    seal()
    // A device number is ours only as long as the filesystem is there.
    if bridge.kernel.isConnected || isCut.load(ordering: .relaxed) { unmount(lazily: true) }
    endWorkers()
    return true
  }

  /// Why not everything that programs had written could be kept, by the last `stop`.
  package var writeBackFailure: Errno? { bridge.writeBackFailure.withLock { $0 } }

  func unmount(lazily: Bool) {
    if let unmounter = bridge.options.unmounter { return unmounter(lazily) }
    if let device { Unmount.run(device, lazily: lazily) }
  }

  /// Takes every byte of plaintext and every name from the kernel; dirty ones go to the volume
  /// first.
  private func lockKernel() {
    bridge.enter(.refusingOpens)
    within { $0.dropCaches() }
    bridge.enter(.refusingReads)
    within { $0.dropCaches() }
    let names = namesInRoot()
    bridge.enter(.refusingAll)
    within { session in
      session.dropCaches()
      for name in names { session.bridge.kernel.invalidate(name, in: .root) }
    }
    waitForRequests()
  }

  /// Lets requests that were let in come to their end, as long as keys are there: dropping pages
  /// waits only for those that fill or write pages.
  ///
  /// One that is stuck for longer finds the volume closed.
  private func waitForRequests() {
    let end = Activity.now + UInt64(bridge.options.patience * 1e9)
    while bridge.hasRequestsUnderWay, Activity.now < end { usleep(1000) }
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
  /// The root is opened for that moment only: a descriptor kept would make the mount busy. Where no
  /// mount is seen, pages are written back all the same, by dropping them.
  private func writeBack() {
    for mount in device.map({ MountTable.visibleMounts(of: $0) }) ?? [] {
      let flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK
      let root = unsafe Glibc.open(mount.mountPoint, flags)
      guard root >= 0 else { continue }
      // Its answer may tell of a failure before, which a program has heard of (errseq_sample in
      // lib/errseq.c); the failures since are counted where they happen.
      _ = syncfs(root)
      close(root)
      break
    }
    dropCaches()
  }

  /// Does something on a thread of its own, and gives it up once no request was served for
  /// `patience` seconds; while requests are served, dirty pages are on their way, however many.
  ///
  /// It waits for a worker then that waits for the lower filesystem. The connection is cut, or the
  /// process could not even be killed: a write-back waits without end.
  private func within(_ body: @escaping @Sendable (MountSession) -> Void) {
    let done = Semaphore()
    let step = { @Sendable [self] in
      body(self)
      done.signal()
    }
    // Without a thread the step is done all the same, only without a way to give it up.
    guard let thread = try? Thread.start("coffre-lock", step) else { return step() }
    var served = bridge.activity.servedRequests
    while !done.wait(seconds: bridge.options.patience) {
      let now = bridge.activity.servedRequests
      if now == served {
        isCut.store(true, ordering: .relaxed)
        if let device { Unmount.abort(device) }
        break
      }
      served = now
    }
    thread.join()
  }
}
