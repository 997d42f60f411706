import Bus
import FuseBridge
import POSIX

/// Shows notices on the desktop of whoever has mounted a vault, if there is one: by the session's
/// bus. If not, as in a service, nothing happens.
///
/// The connection is made before the process is confined. A desktop that hangs holds nothing up.
final class DesktopNotifier: Sendable {
  private let mountPoint: String
  private let bus = Lock<Bus?>(nil)
  /// What is shown already and is to be replaced.
  private let shown = Lock<UInt32>(0)

  private static let target = BusObject(
    "org.freedesktop.Notifications", "/org/freedesktop/Notifications",
    "org.freedesktop.Notifications")

  init(mountPoint: String) { self.mountPoint = mountPoint }

  /// Without a first call the bus would drop the connection as one that says nothing.
  func start() {
    guard let address = BusAddress.session, BusLibrary.load(),
      let opened = try? Bus(address: address)
    else { return }
    var made: Bus? = opened
    bus.withLock { $0 = made.take() }
    _ = Step("coffre-notify") { [self] in
      bus.withLock { bus in
        do throws(Errno) { try bus?.call(LoginSession.driver, "GetId") } catch { bus = nil }
      }
    }
  }

  /// Tells that an idle lock is about to come. Does not wait for the desktop.
  func warn(locksIn seconds: UInt64) {
    let notice = DesktopNotice(mountPoint: mountPoint, locksIn: seconds)
    _ = show(notice, milliseconds: Int32(clamping: seconds * 1000))
  }

  /// Somebody uses it again.
  func withdraw() {
    _ = Step("coffre-notify") { [self] in
      let number = shown.withLock { $0 }
      bus.withLock { bus in
        _ = try? bus?.call(Self.target, "CloseNotification", [.number(number)])
      }
    }
  }

  /// Tells that it is locked, and why; waits a little, for the process is about to end.
  func tell(_ cause: LockCause, isLost: Bool) {
    guard
      let notice = DesktopNotice(mountPoint: mountPoint, locked: cause, isLost: isLost)
    else { return }
    _ = show(notice, milliseconds: -1).wait(nanoseconds: 1_000_000_000)
  }

  /// Shows it for so long, or as the desktop likes.
  private func show(_ notice: DesktopNotice, milliseconds: Int32) -> Step {
    Step("coffre-notify") { [self] in
      let earlier = shown.withLock { $0 }
      let arguments: [BusValue] = [
        .text("Coffre"), .number(earlier), .text("system-lock-screen"), .text(notice.title),
        .text(notice.text), .emptyArray("s"), .emptyArray("{sv}"), .signed(milliseconds),
      ]
      let number = bus.withLock { bus -> UInt32? in
        (try? bus?.call(Self.target, "Notify", arguments))?.number()
      }
      if let number { shown.withLock { $0 = number } }
    }
  }
}
