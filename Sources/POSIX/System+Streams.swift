import CSystem
import Glibc

/// Pipes, sockets and terminals: what is read and written in order.
extension System {
  /// One read(2): as many bytes as there are, 0 at the end.
  package static func receive(
    _ file: borrowing Descriptor, into span: inout MutableRawSpan
  ) throws(Errno) -> Int {
    let number = file.rawValue
    return try unsafe span.withUnsafeMutableBytes { (bytes) throws(Errno) -> Int in
      guard let base = bytes.baseAddress else { return 0 }
      return try check { unsafe Glibc.read(number, base, bytes.count) }
    }
  }

  /// Writes the whole span, write(2).
  package static func send(_ file: borrowing Descriptor, _ span: RawSpan) throws(Errno) {
    try send(file.rawValue, span)
  }

  /// Writes text to standard output (1) or standard error (2).
  package static func print(_ text: String, to number: Int32) throws(Errno) {
    try print(Array(text.utf8), to: number)
  }

  package static func print(_ bytes: [UInt8], to number: Int32) throws(Errno) {
    try unsafe send(number, bytes.span.bytes)
  }

  private static func send(_ number: Int32, _ span: RawSpan) throws(Errno) {
    let done = try unsafe span.withUnsafeBytes { (bytes) throws(Errno) -> Int in
      guard let base = bytes.baseAddress else { return 0 }
      return try transfer(bytes.count) { done in
        unsafe Glibc.write(number, base + done, bytes.count - done)
      }
    }
    guard done == span.byteCount else { throw .ioError }
  }

  /// Another number for a descriptor that came from elsewhere, dup(2), so that it can be owned.
  package static func duplicate(_ number: Int32) throws(Errno) -> Descriptor {
    let copy = try check { Int(fcntl(number, F_DUPFD_CLOEXEC, 3)) }
    return Descriptor(owning: Int32(copy))
  }

  package static func isTerminal(_ number: Int32) -> Bool { isatty(number) == 1 }

  /// Whether there is something to read, or the end, within a time; nil waits for ever.
  package static func waitForInput(_ file: borrowing Descriptor, milliseconds: Int32?) -> Bool {
    coffre_poll(file.rawValue, milliseconds ?? -1) == 1
  }

  /// A line typed without echo. A signal that ends the process finds the echo restored; EINTR after
  /// one that did not, as when the process was stopped and goes on: whoever asked asks again.
  package static func readHidden(
    _ terminal: borrowing Descriptor, into span: inout MutableRawSpan
  ) throws(Errno) -> Int {
    let number = terminal.rawValue
    let result = unsafe span.withUnsafeMutableBytes { bytes -> (Int, Errno?) in
      let count = unsafe coffre_read_hidden(number, bytes.baseAddress, bytes.count)
      return (count, count < 0 ? Errno.current : nil)
    }
    if let failure = result.1 { throw failure }
    return result.0
  }
}

/// Both ends of a pipe, pipe2(2).
package struct Pipe: ~Copyable {
  package let reading: Descriptor
  package let writing: Descriptor

  package init() throws(Errno) {
    var numbers: [Int32] = [-1, -1]
    guard unsafe coffre_pipe(&numbers) == 0 else { throw .current }
    reading = Descriptor(owning: numbers[0])
    writing = Descriptor(owning: numbers[1])
  }

  /// The end to read from; the other one is closed.
  package consuming func intoReading() -> Descriptor { reading }

  /// The end to write to; the other one is closed.
  package consuming func intoWriting() -> Descriptor { writing }
}

/// The process at the other end of a local socket.
package struct Peer: Hashable, Sendable {
  package let process: Int32
  package let user: UInt32
}

/// Sockets of the local machine; Coffre opens no others.
extension System {
  /// Listens at a path that is free, unix(7).
  package static func listen(at path: String) throws(Errno) -> Descriptor {
    Descriptor(owning: Int32(try check { Int(unsafe coffre_listen(path)) }))
  }

  /// EAGAIN if there is no room for a connection within `patience` milliseconds: whoever listens
  /// does not accept any.
  package static func connect(to path: String, patience: Int32) throws(Errno) -> Descriptor {
    Descriptor(owning: Int32(try check { Int(unsafe coffre_connect(path, patience)) }))
  }

  package static func accept(_ listener: borrowing Descriptor) throws(Errno) -> Descriptor {
    let number = listener.rawValue
    return Descriptor(owning: Int32(try check { Int(coffre_accept4(number)) }))
  }

  package static func peer(of connection: borrowing Descriptor) throws(Errno) -> Peer {
    var process: Int32 = 0
    var user: UInt32 = 0
    var group: UInt32 = 0
    guard unsafe coffre_peer(connection.rawValue, &process, &user, &group) == 0 else {
      throw .current
    }
    return Peer(process: process, user: user)
  }
}
