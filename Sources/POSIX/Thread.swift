import CSystem
import Glibc

/// A thread of our own, pthread_create(3). All signals are blocked in it.
///
/// It goes on when nobody holds this any more, and is detached then: what the system keeps for a
/// thread to be joined, its stack above all, would stay for ever.
@safe
package final class Thread: @unchecked Sendable {
  private let handle: pthread_t
  private var isJoined = false

  private init(_ handle: pthread_t) { self.handle = handle }

  deinit {
    if !isJoined { pthread_detach(handle) }
  }

  private final class Body {
    let name: String
    let run: @Sendable () -> Void

    init(name: String, run: @escaping @Sendable () -> Void) {
      self.name = name
      self.run = run
    }
  }

  /// Starts a thread; `name` has at most 15 bytes. Throws EAGAIN when there are too many.
  @discardableResult
  package static func start(
    _ name: String, _ body: @escaping @Sendable () -> Void
  ) throws(Errno) -> Thread {
    let box = unsafe Unmanaged.passRetained(Body(name: name, run: body))
    var all = sigset_t()
    var old = sigset_t()
    unsafe sigfillset(&all)
    unsafe pthread_sigmask(SIG_SETMASK, &all, &old)
    defer { unsafe pthread_sigmask(SIG_SETMASK, &old, nil) }
    var handle = pthread_t()
    let result = unsafe pthread_create(
      &handle, nil,
      { argument in
        guard let argument = unsafe argument else { return nil }
        let body = unsafe Unmanaged<Body>.fromOpaque(argument).takeRetainedValue()
        unsafe coffre_name_thread(body.name)
        body.run()
        return nil
      }, box.toOpaque())
    guard result == 0 else {
      unsafe box.release()
      throw Errno(rawValue: result)
    }
    return Thread(handle)
  }

  /// Waits until the thread has ended. To be called at most once, by whoever started it.
  package func join() {
    precondition(!isJoined, "a thread is joined once")
    isJoined = true
    pthread_join(handle, nil)
  }
}
