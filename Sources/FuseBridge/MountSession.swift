internal import CFuse3
internal import Glibc
import POSIX
internal import Synchronization
package import Volume

/// One mount of a volume: made by `init`, served by `run`, ended by `stop` or from outside.
///
/// Threads: `run` starts workers and waits for them. One more thread drops pages after failed
/// writes. `stop` and `dropCaches` make the kernel write back, which the workers serve, so they are
/// for any thread that is not a worker.
@safe
package final class MountSession: @unchecked Sendable {
  let bridge: Bridge
  /// The filesystem's device, as `MountTable` names it.
  package let device: String
  let keeper: any MountKeeper
  /// Valid until `finish`; only `init`, the workers and `finish` use it.
  private let session: OpaquePointer
  /// Workers that may sit in read(2), to be woken.
  private let readers = Lock<[pthread_t]>([])
  private let isEnding = Atomic<Bool>(false)
  private let hasStarted = Atomic<Bool>(false)
  private let isFinished = Atomic<Bool>(false)
  /// See `isCut`.
  let wasCut = Atomic<Bool>(false)
  private let wasStuck = Atomic<Bool>(false)
  /// Held while the session is let go of, or its device is taken from it.
  private let ownership = Lock<Void>(())
  /// Requests, calls of the kernel and calls of the lower filesystem that come to their end.
  let progress: Progress
  /// Whether the machine is about to sleep or to end, and waits for the lock.
  let hurries = Atomic<Bool>(false)
  /// Whether the keeper has not answered once.
  let isKeeperSilent = Atomic<Bool>(false)
  /// One `stop` at a time.
  let stopping = Lock<Bool>(false)

  /// Makes the mount; requests wait until `run`.
  package convenience init(
    volume: Volume, mountPoint: String, options: MountOptions = MountOptions()
  ) throws(MountError) {
    let mounted = try Mounting.mount(at: mountPoint, options: options.text)
    try self.init(volume: volume, mounted: mounted, options: options, keeper: OwnKeeper())
  }

  /// Takes over what was mounted with the text of the same options; on failure it is unmounted.
  package init(
    volume: Volume, mounted: MountedDevice, options: MountOptions, keeper: any MountKeeper
  ) throws(MountError) {
    coffre_fuse_silence()
    coffre_fuse_install_wake_handler()
    let bridge = Bridge(volume: volume, options: options)
    self.bridge = bridge
    self.keeper = keeper
    device = mounted.device
    progress = Progress { bridge.moves }
    do throws(MountError) {
      unsafe session = try Self.makeSession(bridge, options, mounted)
    } catch {
      _ = Step("coffre-unmount") { keeper.unmount(mounted.device, lazily: true) }
        .wait(nanoseconds: 2_000_000_000)
      throw error
    }
    unsafe bridge.kernel.open(session)
  }

  /// A session on a device that is mounted already, by the name libfuse takes for that. It gets a
  /// number of its own, and closes it.
  private static func makeSession(
    _ bridge: Bridge, _ options: MountOptions, _ mounted: MountedDevice
  ) throws(MountError) -> OpaquePointer {
    let connection: Descriptor
    do throws(Errno) { connection = try System.duplicate(mounted.number) } catch {
      throw .refused(error)
    }
    var table = Operations.table()
    // The session holds the bridge until `finish`.
    let data = unsafe Unmanaged.passRetained(bridge).toOpaque()
    let session: OpaquePointer
    do throws(MountError) {
      unsafe session = try Mounting.makeSession(options.text, &table, data)
    } catch {
      unsafe Unmanaged<Bridge>.fromOpaque(data).release()
      throw error
    }
    guard unsafe fuse_session_mount(session, "/dev/fd/\(connection.detach())") == 0,
      unsafe Wire.install(session)
    else {
      unsafe destroy(session, bridge)
      throw .refused(.badDescriptor)
    }
    return unsafe session
  }

  /// The session and its hold on the bridge.
  private static func destroy(_ session: OpaquePointer, _ bridge: Bridge) {
    unsafe fuse_session_destroy(session)
    unsafe Unmanaged.passUnretained(bridge).release()
  }

  /// Serves until the mount is gone; call it once. `onReady` is called on a worker as soon as the
  /// kernel has the answer to INIT, and the mount can be used. If it never is, the mount is taken
  /// away.
  package func run(onReady: @escaping @Sendable () -> Void = {}) throws(MountError) {
    // A mount that has fewer threads than it asked for still serves; with none it ends at once.
    if (try? bridge.notifier.start()) != nil {
      for thread in startWorkers(onReady) { thread.join() }
    }
    let hasStarted = hasStarted.load(ordering: .acquiring)
    if !hasStarted, unsafe Kernel.isConnected(session) { unmount(lazily: true) }
    finish()
    if !hasStarted { throw .notStarted }
  }

  private func startWorkers(_ onReady: @escaping @Sendable () -> Void) -> [Thread] {
    // Write-backs that an invalidation causes need a thread while another one is busy.
    let count = max(4, 2 * sysconf(Int32(_SC_NPROCESSORS_ONLN)))
    var threads: [Thread] = []
    for number in 1...count {
      guard let thread = try? Thread.start("coffre-fuse-\(number)", { [self] in work(onReady) })
      else { break }
      threads.append(thread)
    }
    return threads
  }

  private func work(_ onReady: @Sendable () -> Void) {
    coffre_fuse_accept_wake_signal()
    let thread = pthread_self()
    readers.withLock { $0.append(thread) }
    // Out of the list before the thread ends: it may not be signalled after.
    defer { readers.withLock { $0.removeAll { $0 == thread } } }
    unsafe Worker().serve(session, bridge, goesOn: { !isEnding.load(ordering: .acquiring) }) {
      isAgreed in
      if isAgreed {
        hasStarted.store(true, ordering: .releasing)
        onReady()
      } else {
        // The kernel waits for no second answer, and tells nobody that it got an error.
        isEnding.store(true, ordering: .releasing)
        _ = try? Thread.start("coffre-end") { [self] in endWorkers() }
      }
    }
  }

  /// All workers have ended: the mount is gone, or `endWorkers` was called, which let no
  /// invalidation go on. So nothing waits for an answer of ours any more.
  private func finish() {
    bridge.notifier.finish()
    bridge.kernel.close()
    // fuse_session_unmount is left out: the mount is gone, and another one may be in its place.
    ownership.withLock { _ in
      unsafe Self.destroy(session, bridge)
      isFinished.store(true, ordering: .releasing)
    }
  }

  /// Ends the workers, however idle they are; those that wait for a lower filesystem which hangs
  /// are left behind, and the session `isStuck`.
  func endWorkers() {
    bridge.kernel.close()
    // Invalidation is served by workers.
    let isIdle = Step("coffre-idle") { [self] in while !bridge.kernel.isIdle { usleep(500) } }
    if !wait(for: isIdle) { wasStuck.store(true, ordering: .relaxed) }
    isEnding.store(true, ordering: .releasing)
    let isOver = Step("coffre-wake") { [self] in wakeWorkers() }
    if !wait(for: isOver) { wasStuck.store(true, ordering: .relaxed) }
    if isStuck { sever() }
  }

  /// A signal sent before a worker enters read(2) is lost, so it is repeated.
  private func wakeWorkers() {
    while !hasEnded {
      readers.withLock { for thread in $0 { pthread_kill(thread, COFFRE_FUSE_WAKE_SIGNAL) } }
      usleep(2000)
    }
  }

  /// Puts something else in the place of the device, so that the kernel cuts the connection by
  /// itself once nobody reads from it: otherwise a thread that waits for an answer could not end,
  /// nor the process with it.
  private func sever() {
    let nothing = unsafe Glibc.open("/dev/null", O_RDWR | O_CLOEXEC)
    guard nothing >= 0 else { return }
    ownership.withLock { _ in
      // The disk may have come back meanwhile.
      if !hasEnded { unsafe dup2(nothing, fuse_session_fd(session)) }
    }
    close(nothing)
  }

  /// Whether the workers could not be ended: `run` does not return, and the process has to end with
  /// its threads as they are.
  package var isStuck: Bool { wasStuck.load(ordering: .relaxed) }

  /// Whether `run` is over.
  package var hasEnded: Bool { isFinished.load(ordering: .acquiring) }
}
