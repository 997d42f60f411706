import Bytes
import Crypto
import POSIX

/// A pipe or a local socket that carries lines, and secrets right behind them.
final class Connection: Sendable {
  private let descriptor: Descriptor

  init(_ descriptor: consuming Descriptor) { self.descriptor = descriptor }

  /// Who is at the other end of a socket.
  func peer() throws(Errno) -> Peer { try System.peer(of: descriptor) }

  /// Whether the other side has closed it, with nothing left to read.
  var hasEnded: Bool {
    guard System.waitForInput(descriptor, milliseconds: 0) else { return false }
    let byte = Buffer(count: 1)
    var span = byte.mutableBytes(in: 0..<1)
    return (try? System.receive(descriptor, into: &span)) != 1
  }

  func send(_ message: Message) throws(Errno) {
    try System.send(descriptor, Buffer(message.line).bytes)
  }

  func send(_ secret: borrowing SecretBytes) throws(Errno) {
    try System.send(descriptor, secret.bytes)
  }

  /// Two paths, of which each byte may take three, and some fields.
  private static let longestLine = 2 * 3 * 4096 + 4096

  /// The next line; nil at the end, for what is no line, or if it is not there as a whole after
  /// `patience` milliseconds.
  ///
  /// Byte by byte: a secret that follows must not get into a buffer for lines.
  func receive(patience: Int32?) -> Message? {
    var line: [UInt8] = []
    let byte = Buffer(count: 1)
    let deadline = Deadline(patience)
    while line.count < Self.longestLine {
      guard System.waitForInput(descriptor, milliseconds: deadline.left) else { return nil }
      var span = byte.mutableBytes(in: 0..<1)
      guard let count = try? System.receive(descriptor, into: &span), count == 1 else { return nil }
      let value = byte.load(UInt8.self, at: 0)
      if value == UInt8(ascii: "\n") { return Message(line: line) }
      line.append(value)
    }
    return nil
  }

  /// The next `count` bytes, all of them within `patience` milliseconds.
  func receiveSecret(_ count: Int, patience: Int32?) -> SecretBytes? {
    guard count > 0, count <= 4096 else { return nil }
    var secret = SecretBytes(count: count)
    var done = 0
    let deadline = Deadline(patience)
    while done < count {
      guard System.waitForInput(descriptor, milliseconds: deadline.left) else { return nil }
      var span = secret.mutableBytes
      var rest = span._mutatingExtracting(done..<count)
      guard let got = try? System.receive(descriptor, into: &rest), got > 0 else { return nil }
      done += got
    }
    return secret
  }

  /// Waits until the other side is gone.
  func waitForEnd() {
    while receive(patience: nil) != nil {}
  }
}

/// A time by which something is to be over; nil waits for ever.
private struct Deadline {
  private let end: UInt64?

  init(_ milliseconds: Int32?) {
    end = milliseconds.map { Clock.monotonic + UInt64(max(0, $0)) * 1_000_000 }
  }

  /// Milliseconds, rounded up.
  var left: Int32? {
    end.map { end in
      let now = Clock.monotonic
      return Int32(clamping: (end - min(now, end) + 999_999) / 1_000_000)
    }
  }
}
