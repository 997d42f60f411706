import POSIX
import TestKit
import Testing

@testable import Bus

/// Whom Coffre talks to on a bus: this machine, by a local socket, and nobody else.
@Suite struct BusAddressTests {
  @Test(arguments: [
    "unix:path=/run/dbus/system_bus_socket", "unix:abstract=/tmp/dbus-x,guid=00",
    "unix:path=/a;unix:path=/b",
  ])
  func localSocketsAreTaken(_ address: String) {
    #expect(BusAddress.local(address) == address)
  }

  @Test(arguments: [
    "", ";", "tcp:host=localhost,port=1", "unixexec:path=/bin/sh,argv1=-c", "autolaunch:",
    "launchd:env=X", "unix:path=/a;tcp:host=localhost,port=1", "nonce-tcp:host=localhost",
    "x-machine-unix:pid=1", "UNIX:path=/a", " unix:path=/a", "/run/dbus/system_bus_socket",
  ])
  func everythingElseIsRefused(_ address: String) {
    #expect(BusAddress.local(address) == nil)
    #expect(throws: Errno.self) { _ = try Bus(address: address) }
  }
}

extension BusAddressTests {
  @Test func theBusOfAnotherUserIsNotUsed() throws {
    let scratch = ScratchDirectory()
    let listener = try System.listen(at: scratch.path("bus"))
    let address = "unix:path=" + scratch.path("bus")
    #expect(BusAddress.belongs(address, to: System.userNumber))
    #expect(BusAddress.belongs(address + ",guid=00", to: System.userNumber))
    #expect(!BusAddress.belongs(address, to: System.userNumber + 1))
    #expect(!BusAddress.belongs(address + "-none", to: System.userNumber))
    withExtendedLifetime(listener.rawValue) {}
  }
}

@Suite struct BusLibraryTests {
  @Test func aLibraryThatIsNotThereIsNotFound() {
    #expect(!BusLibrary.load("libcoffre-is-not-there.so.0"))
  }

  /// Another library by that name, or one that is too old.
  @Test func aLibraryWithoutTheFunctionsIsNotTaken() {
    #expect(!BusLibrary.load("libc.so.6"))
  }

  @Test(.enabled(if: BusLibrary.load(), "no libsystemd.so.0 (package libsystemd0)"))
  func aBusThatIsNotThereIsAnError() {
    #expect(throws: Errno.noSuchFile) {
      _ = try Bus(address: "unix:path=/nonexistent/coffre-bus")
    }
  }
}
