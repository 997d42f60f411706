import Synchronization

internal import CFuse3
internal import Glibc
internal import POSIX
internal import Volume

extension MountSession {
  /// Unmounts, with nothing lost that an application has written.
  ///
  /// Without force: pages are written back while everything is still served; then a plain unmount.
  /// False if the mount is in use, and it goes on as before.
  ///
  /// With force, the order of a lock: no new opens, all pages written back; no more reading, pages
  /// dropped, mappings with them; nothing served, pages dropped again, then names; `seal` is called
  /// (checkpoint, wipe keys); the mount is detached, and the workers end. Whoever still has a file
  /// open gets EACCES, then ENOTCONN, SIGBUS from a mapping. A step that is stuck for `patience`
  /// seconds is given up, see `within`.
  ///
  /// Returns once `run` is over. Not for workers. libfuse's own signal handling is not used: it
  /// leaves the loop before it unmounts, and dirty pages have nobody to go to.
  @discardableResult
  package func stop(force: Bool, seal: @Sendable () -> Void = {}) -> Bool {
    let isFirst = stopping.withLock { isStopping in
      defer { isStopping = true }
      return !isStopping
    }
    guard isFirst else { return hasEnded }
    defer { stopping.withLock { $0 = false } }
    if hasEnded { return true }
    if force { within { $0.writeBack() } } else { writeBack() }
    if Unmount.run(mountPoint, bridge.options, lazily: false) {
      waitOrEnd()
      seal()
      return true
    }
    guard force else { return false }
    lockKernel()
    seal()
    _ = Unmount.run(mountPoint, bridge.options, lazily: true)
    endWorkers()
    return true
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
  /// The mount point is opened for that moment only: a descriptor kept would make the mount busy.
  private func writeBack() {
    let root = unsafe Glibc.open(mountPoint, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK)
    if root >= 0 {
      var status = stat()
      if unsafe fstat(root, &status) == 0 {
        connection.store(UInt32(coffre_fuse_minor(status.st_dev)), ordering: .relaxed)
      }
      _ = syncfs(root)
      close(root)
    }
    dropCaches()
  }

  /// The mount is gone: the workers read ENODEV, unless another namespace has it still.
  private func waitOrEnd() {
    let end = Activity.now + 2_000_000_000
    while !hasEnded, Activity.now < end { usleep(1000) }
    if !hasEnded { endWorkers() }
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
        Unmount.abort(mountPoint, connection: connection.load(ordering: .relaxed))
        break
      }
      served = now
    }
    thread.join()
  }
}
