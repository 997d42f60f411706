import Session
import POSIX

/// The command `coffre`.
package enum Tool {
  package static let version = "0.1.0"

  /// Does what the command line says, and ends the process.
  package static func main() -> Never {
    do throws(Errno) { try System.settle() } catch { System.exit(ExitCode.systemError.rawValue) }
    System.forbidDumps()
    System.keepFilesPrivate()
    let words = System.arguments
    let texts = words.map { String(decoding: $0, as: UTF8.self) }
    switch texts.first {
    case Launcher.superviseVerb where words.count == 2: Supervisor.run(mountPoint: texts[1])
    case Launcher.keepVerb where words.count == 2: Keeper.run(mountPoint: texts[1])
    case Launcher.daemonVerb where words.count == 1: Daemon.run()
    default: break
    }
    do throws(Failure) {
      try run(words, texts)
      Interruption.endIfWanted()
      try Output.check()
      System.exit(ExitCode.success.rawValue)
    } catch {
      Interruption.endIfWanted()
      if Output.hasNoReader { System.end(by: System.pipeSignal) }
      Output.failure(error)
      System.exit(error.code.rawValue)
    }
  }

  /// `texts` are the same words, with what is no text in them repaired.
  private static func run(_ words: [[UInt8]], _ texts: [String]) throws(Failure) {
    guard let first = texts.first else {
      throw Failure(.usage, "no verb given", hint: "see `coffre help`")
    }
    switch first {
    case "--version": return Output.line("coffre \(version)")
    case "--help", "-h": return Output.text(Help.overview)
    default: break
    }
    guard let verb = Verb.named(first) else {
      throw Failure(.usage, "no verb \(first)", hint: "see `coffre help`")
    }
    // Repaired it would be another file's name.
    let isText = zip(words, texts).allSatisfy { $0.elementsEqual($1.utf8) }
    guard isText || verb.takesBytes else {
      throw Failure(.usage, "a word of the command line is not UTF-8")
    }
    if texts.contains("--help") { return Output.text(Help.of(verb)) }
    let arguments: Arguments
    do throws(Failure) {
      arguments = try Arguments(parsing: Array(words.dropFirst()), options: verb.options)
      guard verb.operandCount.contains(arguments.positional.count) else {
        throw Failure(
          .usage, "usage: coffre \(([verb.name] + verb.operands).joined(separator: " "))")
      }
    } catch {
      throw Failure(.usage, error.message, hint: error.hint ?? "see `coffre help \(verb.name)`")
    }
    try verb.run(arguments)
  }
}

/// What goes to the terminal. Results go to standard output, all else to standard error.
enum Output {
  private static let problem = Lock<Errno?>(nil)

  static func line(_ line: String) { text(visible(line) + "\n") }

  static func text(_ text: String) {
    do throws(Errno) { try System.print(text, to: 1) } catch { fail(error) }
  }

  /// As the bytes they are.
  static func bytes(_ bytes: [UInt8]) {
    do throws(Errno) { try System.print(bytes, to: 1) } catch { fail(error) }
  }

  /// Whether nobody gets what else is printed.
  static var isBroken: Bool { problem.withLock { $0 != nil } }

  /// Whether that is because the reader went.
  static var hasNoReader: Bool { problem.withLock { $0 == .brokenPipe } }

  /// Something could not be written to standard output, by whoever did.
  static func fail(_ errno: Errno) { problem.withLock { $0 = errno } }

  /// Throws if a result was not written: whoever reads it would take it for whole. If the reader
  /// went, the process ends as the signal of that would have ended it, without a word.
  static func check() throws(Failure) {
    guard let errno = problem.withLock({ $0 }) else { return }
    if errno == .brokenPipe { System.end(by: System.pipeSignal) }
    throw Failure(errno, doing: "standard output")
  }

  static func note(_ text: String) { tell("", text) }
  static func warning(_ text: String) { tell("warning: ", text) }

  static func failure(_ failure: Failure) {
    tell("error: ", failure.message)
    if let hint = failure.hint { tell("hint: ", hint) }
  }

  /// Nobody is told if that fails.
  private static func tell(_ kind: String, _ text: String) {
    try? System.print("coffre: \(kind)\(visible(text))\n", to: 2)
  }

  /// Control characters as `\xNN`: a path may have some that would repaint the terminal.
  static func visible(_ text: String) -> String {
    var result = ""
    for scalar in text.unicodeScalars {
      if scalar.value < 0x20 || (0x7f...0x9f).contains(scalar.value) {
        result += (scalar.value < 0x10 ? "\\x0" : "\\x") + String(scalar.value, radix: 16)
      } else {
        result.unicodeScalars.append(scalar)
      }
    }
    return result
  }
}
