import Bus
import FuseBridge
import POSIX

/// Shows notices on the desktop of whoever has mounted a vault, if there is one: by the session's
/// bus. If not, as in a service, nothing happens. A desktop that hangs holds nothing up.
final class DesktopNotifier: Sendable {
  private let mountPoint: String
  private let bus = Lock<Bus?>(nil)
  /// What is shown already and is to be replaced; 0 for nothing.
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

  /// Does not wait for the desktop; only where the vault is locked it waits a little, for the
  /// process is about to end.
  func show(_ event: DesktopEvent) {
    switch event {
    case .locksSoon(let seconds):
      let notice = DesktopNotice(mountPoint: mountPoint, locksIn: seconds)
      _ = show(notice, milliseconds: Int32(clamping: seconds * 1000))
    case .isUsed: withdraw()
    case .locked(let cause, let isLost):
      guard let notice = DesktopNotice(mountPoint: mountPoint, locked: cause, isLost: isLost) else {
        return
      }
      _ = show(notice, milliseconds: -1).wait(nanoseconds: 1_000_000_000)
    }
  }

  private func withdraw() {
    _ = Step("coffre-notify") { [self] in
      let number = shown.withLock { $0 }
      guard number != 0 else { return }
      bus.withLock { bus in
        _ = try? bus?.call(Self.target, "CloseNotification", [.number(number)])
      }
    }
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
