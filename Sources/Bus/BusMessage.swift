import CSystem
package import POSIX

/// Whose signal a message is, and which.
package struct BusSignal: Hashable, Sendable {
  /// The unique name of the sender, which the bus itself writes.
  package let sender: String
  package let path: String
  package let interface: String
  package let member: String
}

/// A message of a bus. It is read from its start on; what is not as expected is nil.
@safe
package struct BusMessage: ~Copyable {
  private let message: OpaquePointer

  init(owning message: OpaquePointer) { unsafe self.message = message }

  deinit { unsafe coffre_bus_release(message) }

  func append(_ value: BusValue) throws(Errno) {
    let result: Int32 =
      switch value {
      case .text(let text): unsafe coffre_bus_append_text(message, Self.string, text)
      case .number(let number): unsafe coffre_bus_append_number(message, number)
      case .signed(let number): unsafe coffre_bus_append_signed(message, number)
      case .emptyArray(let contents): unsafe coffre_bus_append_empty_array(message, contents)
      }
    try Bus.check(result)
  }

  /// Nil if the message is no signal.
  package var signal: BusSignal? {
    guard unsafe coffre_bus_is_signal(message) == 1,
      let sender = unsafe coffre_bus_sender(message), let path = unsafe coffre_bus_path(message),
      let interface = unsafe coffre_bus_interface(message),
      let member = unsafe coffre_bus_member(message)
    else { return nil }
    return BusSignal(
      sender: unsafe String(cString: sender), path: unsafe String(cString: path),
      interface: unsafe String(cString: interface), member: unsafe String(cString: member))
  }

  private static let string = CChar(UInt8(ascii: "s"))
  private static let path = CChar(UInt8(ascii: "o"))

  package func text() -> String? { text(Self.string) }

  /// An object's path.
  package func path() -> String? { text(Self.path) }

  private func text(_ type: CChar) -> String? {
    var value: UnsafePointer<CChar>?
    guard unsafe coffre_bus_read_text(message, type, &value) == 1, let value = unsafe value else {
      return nil
    }
    return unsafe String(cString: value)
  }

  package func flag() -> Bool? { number(UInt8(ascii: "b")).map { $0 != 0 } }

  /// Of 32 bits.
  package func number() -> UInt32? {
    number(UInt8(ascii: "u")).map { UInt32(truncatingIfNeeded: $0) }
  }

  /// Of 64 bits.
  package func wideNumber() -> UInt64? { number(UInt8(ascii: "t")) }

  private func number(_ type: UInt8) -> UInt64? {
    var value: UInt64 = 0
    guard unsafe coffre_bus_read_number(message, CChar(type), &value) == 1 else { return nil }
    return value
  }

  package func descriptor() -> Descriptor? {
    var number: Int32 = -1
    guard unsafe coffre_bus_read_descriptor(message, &number) == 1 else { return nil }
    return Descriptor(owning: number)
  }

  /// What may have parts.
  package enum Container: UInt8 {
    case array = 0x61
    case structure = 0x72
    case variant = 0x76
    case entry = 0x65
  }

  /// Goes into a container whose contents are of the types given; false if there is none, or no
  /// further one in an array.
  package func enter(_ container: Container, _ contents: String) -> Bool {
    unsafe coffre_bus_enter(message, CChar(container.rawValue), contents) == 1
  }

  package func exit() -> Bool { unsafe coffre_bus_exit(message) >= 0 }

  package func skip(_ types: String) -> Bool { unsafe coffre_bus_skip(message, types) >= 0 }
}
