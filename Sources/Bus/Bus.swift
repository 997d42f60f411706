import CSystem
package import POSIX

/// What is called on a bus: an object of a service, and the interface it has.
package struct BusObject: Hashable, Sendable {
  package let service: String
  package let path: String
  package let interface: String

  package init(_ service: String, _ path: String, _ interface: String) {
    self.service = service
    self.path = path
    self.interface = interface
  }
}

/// An argument of a call.
package enum BusValue: Hashable, Sendable {
  case text(String)
  case number(UInt32)
  case signed(Int32)
  /// An array without elements, of a type.
  case emptyArray(String)
}

/// A connection to a message bus, sd-bus(3). For one thread at a time, its messages too.
@safe
package struct Bus: ~Copyable, @unchecked Sendable {
  private let bus: OpaquePointer

  /// Opens a socket; that the bus answers is not waited for. ENOSYS without the library, EINVAL for
  /// what is no local socket.
  package init(address: String) throws(Errno) {
    guard BusAddress.local(address) != nil else { throw .invalid }
    guard BusLibrary.isLoaded else { throw .notImplemented }
    unsafe bus = try Self.make { unsafe coffre_bus_open(address, &$0) }
  }

  @unsafe
  private static func make(
    _ open: (inout OpaquePointer?) -> Int32
  ) throws(Errno) -> OpaquePointer {
    var made: OpaquePointer?
    try check(unsafe open(&made))
    guard let made = unsafe made else { throw .noMemory }
    return unsafe made
  }

  deinit { unsafe coffre_bus_close(bus) }

  @discardableResult
  static func check(_ result: Int32) throws(Errno) -> Int32 {
    guard result >= 0 else { throw Errno(rawValue: -result) }
    return result
  }

  /// The next message that is no answer, waited for at most so long; nil also if something else was
  /// done meanwhile. Throws when the connection is gone.
  package func receive(milliseconds: UInt64) throws(Errno) -> BusMessage? {
    var message: OpaquePointer?
    let done = try Self.check(unsafe coffre_bus_process(bus, &message))
    if let message = unsafe message { return unsafe BusMessage(owning: message) }
    if done == 0 { try Self.check(unsafe coffre_bus_wait(bus, milliseconds * 1000)) }
    return nil
  }

  /// Calls a method and waits for its answer; an error that is answered is thrown as its nearest
  /// errno. The limit does not hold before the bus has answered for the first time.
  @discardableResult
  package func call(
    _ object: BusObject, _ method: String, _ arguments: [BusValue] = [], milliseconds: UInt64 = 2000
  ) throws(Errno) -> BusMessage {
    var made: OpaquePointer?
    try Self.check(
      unsafe coffre_bus_new_call(
        bus, object.service, object.path, object.interface, method, &made))
    guard let made = unsafe made else { throw .noMemory }
    let call = unsafe BusMessage(owning: made)
    for argument in arguments { try call.append(argument) }
    var answer: OpaquePointer?
    let result = unsafe coffre_bus_call(bus, made, milliseconds * 1000, &answer)
    // The call must outlive its sending.
    withExtendedLifetime(call) {}
    try Self.check(result)
    guard let answer = unsafe answer else { throw .noMemory }
    return unsafe BusMessage(owning: answer)
  }
}
