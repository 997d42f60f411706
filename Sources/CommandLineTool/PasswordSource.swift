import Bytes
package import Crypto
import POSIX
package import Session

/// Where a password comes from. Never from the command line or the environment: others can read
/// those.
package enum PasswordSource: Hashable, Sendable {
  case prompt
  case file(String)
  case descriptor(Int32)
  case command(String)

  /// The longest password, in bytes.
  package static let limit = 1024

  /// The source options say; `prefix` is "new-" for the second password of `passwd`.
  package init(_ arguments: Arguments, prefix: String = "") throws(Failure) {
    let file = arguments.value(prefix + "password-file")
    let number = arguments.value(prefix + "password-fd")
    let command = arguments.value(prefix + "password-command")
    guard [file, number, command].count(where: { $0 != nil }) <= 1 else {
      throw Failure(.usage, "one way to give a password is enough")
    }
    if let file {
      self = .file(file)
    } else if let number {
      guard let descriptor = Int32(number), descriptor >= 0 else {
        throw Failure(.usage, "\(number) is no descriptor")
      }
      self = .descriptor(descriptor)
    } else if let command {
      self = .command(command)
    } else {
      self = .prompt
    }
  }

  /// Reads it. `twice` asks again at a prompt, for a password that is new.
  package func read(_ prompt: String, twice: Bool) throws(Failure) -> SecretBytes {
    switch self {
    case .prompt: return try TerminalPrompt.read(prompt, twice: twice)
    case .file(let path):
      let file: Descriptor
      do throws(Errno) { file = try System.open(path, .readOnly) } catch {
        throw Failure(.badPasswordInput, "\(path): \(error.description.lowercased())")
      }
      return try Self.read(file)
    case .descriptor(let number):
      let file: Descriptor
      do throws(Errno) { file = try System.duplicate(number) } catch {
        throw Failure(.badPasswordInput, "descriptor \(number): \(error.description.lowercased())")
      }
      return try Self.read(file)
    case .command(let command): return try Self.run(command)
    }
  }

  /// The output of a command, which must succeed.
  private static func run(_ command: String) throws(Failure) -> SecretBytes {
    let process: Int32
    let output: Descriptor
    do throws(Errno) {
      let pipe = try Pipe()
      process = try System.spawn(
        "/bin/sh", ["sh", "-c", command],
        descriptors: [.inherited, .number(pipe.writing.rawValue), .inherited], detached: false)
      output = pipe.intoReading()
    } catch { throw Failure(.badPasswordInput, "the password command: \(error.description)") }
    var problem: Failure?
    var password: SecretBytes?
    do throws(Failure) { password = try read(output) } catch { problem = error }
    let end = try? System.wait(for: process)
    // It may have failed for that very reason: nobody reads what is too much.
    if problem == PasswordText.tooLong { throw PasswordText.tooLong }
    guard end == .exited(0) else {
      throw Failure(.badPasswordInput, "the password command failed")
    }
    if let problem { throw problem }
    guard let password = password.take() else { throw Failure(.badPasswordInput, "no password") }
    return password
  }

  /// Everything up to the end, or more than is allowed; then the file is closed, and a command that
  /// still writes ends.
  private static func read(_ file: consuming Descriptor) throws(Failure) -> SecretBytes {
    var secret = SecretBytes(count: limit + 2)
    var count = 0
    while count < limit + 2 {
      var span = secret.mutableBytes
      var rest = span._mutatingExtracting(count..<(limit + 2))
      do throws(Errno) {
        let got = try System.receive(file, into: &rest)
        if got == 0 { break }
        count += got
      } catch {
        throw Failure(.badPasswordInput, "the password: \(error.description.lowercased())")
      }
    }
    return try PasswordText.checked(secret, count: count)
  }
}
