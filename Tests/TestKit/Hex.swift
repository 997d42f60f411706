/// Bytes as hexadecimal digits.
package func hex(_ bytes: [UInt8]) -> String {
  bytes.map { byte in
    let digits = String(byte, radix: 16)
    return digits.count == 1 ? "0" + digits : digits
  }.joined()
}

/// The bytes hexadecimal digits stand for; spaces and line ends are skipped. Else it traps.
package func unhex(_ text: String) -> [UInt8] {
  let digits = text.utf8.filter { $0 != 0x20 && $0 != 0x0a && $0 != 0x0d }
  precondition(digits.count % 2 == 0, "hexadecimal digits come in pairs")
  func value(_ digit: UInt8) -> UInt8 {
    switch digit {
    case 0x30...0x39: digit - 0x30
    case 0x41...0x46: digit - 0x41 + 10
    case 0x61...0x66: digit - 0x61 + 10
    default: preconditionFailure("not a hexadecimal digit")
    }
  }
  return stride(from: 0, to: digits.count, by: 2).map {
    value(digits[$0]) << 4 | value(digits[$0 + 1])
  }
}
