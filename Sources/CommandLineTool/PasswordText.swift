import Bytes
package import Crypto
import POSIX
package import Session

/// What makes bytes a password.
package enum PasswordText {
  static let tooLong = Failure(
    .badPasswordInput, "the password has more than \(PasswordSource.limit) bytes")

  /// The first `count` bytes without one newline at the end. Taken as they are: no other byte is
  /// changed.
  package static func checked(
    _ secret: borrowing SecretBytes, count: Int
  ) throws(Failure) -> SecretBytes {
    var length = count
    let bytes = Bytes(secret)
    if length > 0, bytes[length - 1] == UInt8(ascii: "\n") { length -= 1 }
    guard length > 0 else { throw Failure(.badPasswordInput, "the password is empty") }
    guard length <= PasswordSource.limit else { throw tooLong }
    for index in 0..<length where bytes[index] == 0 {
      throw Failure(.badPasswordInput, "the password has a zero byte in it")
    }
    return secret.prefix(length)
  }

  /// A wiped copy to look into.
  private struct Bytes {
    private let buffer: Buffer
    init(_ secret: borrowing SecretBytes) {
      buffer = Buffer(count: secret.count)
      buffer.store(secret.bytes, at: 0)
    }
    subscript(index: Int) -> UInt8 { buffer.load(UInt8.self, at: index) }
  }
}

/// Asks at the terminal, whatever standard input is.
enum TerminalPrompt {
  static func read(_ prompt: String, twice: Bool) throws(Failure) -> SecretBytes {
    let terminal: Descriptor
    do throws(Errno) { terminal = try System.open("/dev/tty", .readWrite) } catch {
      throw Failure(
        .badPasswordInput, "there is no terminal to ask for the password",
        hint: "use --password-file, --password-fd or --password-command")
    }
    let first = try ask(prompt + ": ", terminal)
    guard twice else { return first }
    let second = try ask(prompt + ", once more: ", terminal)
    guard areEqual(first, second) else {
      throw Failure(.badPasswordInput, "the two passwords differ")
    }
    return first
  }

  private static func areEqual(
    _ left: borrowing SecretBytes, _ right: borrowing SecretBytes
  ) -> Bool {
    constantTimeEqual(left.bytes, right.bytes)
  }

  private static func ask(
    _ prompt: String, _ terminal: borrowing Descriptor
  ) throws(Failure) -> SecretBytes {
    var secret = SecretBytes(count: PasswordSource.limit + 2)
    while true {
      let count: Int
      do throws(Errno) {
        try System.send(terminal, Buffer(Array(prompt.utf8)).bytes)
        var span = secret.mutableBytes
        count = try System.readHidden(terminal, into: &span)
      } catch {
        // Stopped by Ctrl-Z, and in the foreground again.
        if error == .interrupted { continue }
        throw Failure(.badPasswordInput, "the terminal: \(error.description.lowercased())")
      }
      return try PasswordText.checked(secret, count: count)
    }
  }
}
