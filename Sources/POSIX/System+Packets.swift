import CSystem
import Glibc

/// Packets between two processes that one of them has started, with descriptors in them: unix(7).
extension System {
  /// Two ends of a local socket that keeps packets apart, socketpair(2).
  package static func packetSockets() throws(Errno) -> PacketSockets {
    var numbers: [Int32] = [-1, -1]
    guard unsafe coffre_packet_sockets(&numbers) == 0 else { throw .current }
    return PacketSockets(
      one: Descriptor(owning: numbers[0]), other: Descriptor(owning: numbers[1]))
  }

  /// Sends a packet, with a descriptor if it is not negative: the other side gets another number
  /// for the same.
  package static func sendPacket(
    _ socket: borrowing Descriptor, _ bytes: [UInt8], with descriptor: Int32 = -1
  ) throws(Errno) {
    let number = socket.rawValue
    _ = try check { Int(unsafe coffre_send_packet(number, bytes, bytes.count, descriptor)) }
  }

  /// The next packet, at most 64 KiB, and the descriptor in it. No bytes at the end.
  package static func receivePacket(_ socket: borrowing Descriptor) throws(Errno) -> Packet {
    let number = socket.rawValue
    var bytes = [UInt8](repeating: 0, count: 1 << 16)
    var descriptor: Int32 = -1
    let count = try check {
      Int(unsafe coffre_receive_packet(number, &bytes, bytes.count, &descriptor))
    }
    return Packet(
      bytes: Array(bytes[..<count]),
      descriptor: descriptor < 0 ? nil : Descriptor(owning: descriptor))
  }
}

package struct PacketSockets: ~Copyable {
  package let one: Descriptor
  private let other: Descriptor

  init(one: consuming Descriptor, other: consuming Descriptor) {
    self.one = one
    self.other = other
  }

  /// The number of the end that is for the process to be started.
  package var otherNumber: Int32 { other.rawValue }

  /// Our end; the other one is closed.
  package consuming func intoOne() -> Descriptor { one }
}

package struct Packet: ~Copyable {
  package let bytes: [UInt8]
  private let descriptor: Descriptor?

  init(bytes: [UInt8], descriptor: consuming Descriptor?) {
    self.bytes = bytes
    self.descriptor = descriptor
  }

  package consuming func intoDescriptor() -> Descriptor? { descriptor }
}
