import Bytes
import Disk
import POSIX

/// Passwords that did not open a vault on this machine, since one did: shown at the next mount.
///
/// A file beside the anchor, `<vault id>.attempts`, one line for each: when it was, in seconds
/// since 1970. A line is appended in one write(2), so attempts at the same time are all counted.
/// Whoever can write there can also take it away; what he writes is only ever counted and shown.
package struct FailedAttempts: Hashable, Sendable {
  package let count: Int
  /// When the first was, seconds since 1970; nil if that can't be read.
  package let first: Int64?

  /// One more than these is not written any more.
  static let most = 10_000
  private static let longestFile = 32 * most

  /// Nil for none.
  init?(_ bytes: [UInt8]) {
    let lines = bytes.split(separator: 0x0a)
    guard let line = lines.first else { return nil }
    count = lines.count
    first = UInt32(String(decoding: line, as: UTF8.self)).map { Int64($0) }
  }

  /// For the owner of the vault, who knows which of them were his own.
  package var sentence: String {
    let number = count < Self.most ? "\(count)" : "\(Self.most) or more"
    let attempts = count == 1 ? "1 failed attempt" : "\(number) failed attempts"
    let time = first.map { Clock.text($0) } ?? "an unknown time"
    return count == 1
      ? "\(attempts) to open this vault, at \(time)"
      : "\(attempts) to open this vault since \(time)"
  }
}

extension FailedAttempts {
  static func path(_ identifier: String) -> String? {
    AnchorFolder.path.map { $0 + "/" + identifier + ".attempts" }
  }

  /// Where it can't be kept, nothing is: no attempt fails for that.
  static func note(_ path: String, at time: Int64 = Clock.realtime.seconds) {
    let flags: OpenFlags = [.writeOnly, .create, .append, .noFollow, .nonBlocking]
    guard let file = try? System.open(path, flags),
      let status = try? System.status(of: file), status.isRegular, status.size < 11 * UInt64(most)
    else { return }
    try? System.send(file, Buffer(Array("\(time)\n".utf8)).bytes)
    try? System.fdatasync(file)
  }

  static func read(_ path: String) -> FailedAttempts? {
    guard let file = try? System.open(path, [.readOnly, .noFollow, .nonBlocking]),
      let status = try? System.status(of: file), status.isRegular,
      let bytes = try? System.readFile(file, limit: longestFile)
    else { return nil }
    return FailedAttempts(bytes)
  }

  /// Forgets those that were shown. With one more since, all are shown again.
  func forget(_ path: String) {
    if Self.read(path) == self { try? System.remove(path) }
  }
}

extension Vault {
  /// Does something with a password, and counts it if it is wrong.
  func counting<Result: ~Copyable>(
    _ body: () throws(VaultError) -> Result
  ) throws(VaultError) -> Result {
    do throws(VaultError) { return try body() } catch {
      if error == .wrongPassword, let path = attempts {
        // It makes the folder.
        _ = AnchorFolder.open()
        FailedAttempts.note(path)
      }
      throw error
    }
  }

  /// The file of this vault's failed attempts.
  var attempts: String? {
    (try? information()).flatMap { FailedAttempts.path($0.identifier) }
  }
}
