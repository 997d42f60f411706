import Bytes
import Crypto
import Format

@testable import CommandLineTool
@testable import Session

/// Decoders that need no vault.
enum TextTargets {
  static func configuration(_ bytes: [UInt8]) {
    let page = Buffer(Input.changing(goodConfiguration, bytes))
    do throws(Configuration.Problem) {
      let found = try Configuration(decoding: page)
      // Only what `encoded` writes is taken; the checksum is not this decoder's.
      let end = Configuration.checksumOffset
      precondition(found.encoded().load(0..<end) == page.load(0..<end), "two ways to write it")
      for (index, slot) in found.slots.enumerated() {
        if let slot { _ = found.additionalData(of: slot, at: index) }
      }
    } catch {}
  }

  private static let goodConfiguration: [UInt8] = {
    var good = Configuration(
      vault: [UInt8](1...16), generation: 7,
      cost: PasswordCost(version: 0x13, memoryKiB: 65536, passes: 3, lanes: 4))
    for index in [0, 3] {
      good.slots[index] = KeySlot(
        kind: .password, generation: 5, salt: [UInt8](repeating: 1, count: 16),
        commitment: [UInt8](repeating: 2, count: 32), iv: [UInt8](repeating: 3, count: 12),
        sealedKey: [UInt8](repeating: 4, count: 32), tag: [UInt8](repeating: 5, count: 16))
    }
    return good.encoded().load(0..<Configuration.size)
  }()

  static func message(_ bytes: [UInt8]) {
    guard let found = Message(line: bytes) else { return }
    precondition(Message(line: found.line.dropLast()) == found, "a line reads as it was written")
    _ = found.failure
    if let settings = MountSettings(found) {
      precondition(MountSettings(settings.message(passwordCount: 1)) != nil)
      _ = settings.lockAfter.map { $0 * 1_000_000_000 }
      _ = settings.lockAtMost.map { $0 * 1_000_000_000 }
    }
    if let status = MountStatus(found) {
      precondition(MountStatus(status.message) == status, "a status reads as it was written")
      _ = StatusCommand.json(status)
      _ = StatusCommand.lines(status)
    }
    if let entry = found.auditEntry {
      precondition(Message(entry, as: found.verb).auditEntry == entry)
      _ = JournalCommand.json(entry).text
      _ = JournalCommand.line(entry)
    }
    var report = AuditReport()
    _ = report.take(found)
    if let lock = LastLock(found) {
      precondition(LastLock(lock.message) == lock, "a lock reads as it was written")
      _ = StatusCommand.json(lock)
      _ = StatusCommand.line(lock)
    }
  }

  /// Words, each ended by a zero byte, as in the memory of a process.
  static func arguments(_ bytes: [UInt8]) {
    let words = bytes.split(separator: 0, omittingEmptySubsequences: false)
      .map { String(decoding: $0, as: UTF8.self) }
    for verb in Verb.all {
      guard let found = try? Arguments(parsing: words, options: verb.options) else { continue }
      precondition(found.positional.count <= words.count)
      for option in verb.options { _ = found.all(option.name) }
    }
    for word in words {
      _ = try? CalendarTime.since(word, now: 1 << 60)
      guard let seconds = try? Duration.seconds(word) else { continue }
      precondition((try? Duration.seconds(Duration.text(seconds))) == seconds)
    }
  }

  static func options(_ bytes: [UInt8]) {
    let words = bytes.split(separator: 0x2c).map { String(decoding: $0, as: UTF8.self) }
    var settings = MountSettings(vault: "/v", mountPoint: "/m")
    do throws(Failure) { try settings.take(words) } catch { return }
    precondition(settings.extra.count <= words.count)
  }

  static func password(_ bytes: [UInt8]) {
    guard !bytes.isEmpty else { return }
    let secret = SecretBytes(copying: Buffer(bytes).bytes)
    do throws(Failure) {
      let found = try PasswordText.checked(secret, count: secret.count)
      precondition(found.count > 0 && found.count <= PasswordSource.limit)
    } catch {}
  }
}
