import Bytes
import Format
import POSIX
import Volume

/// Entries for the audit log that could not be written into the vault: of mounts that write nothing
/// to it, and of checks. The next one that writes takes them over.
///
/// A file beside the anchor, `<vault id>.notes`, each note appended in one write(2). They are
/// sealed, so nobody makes one up; but whoever can write there can take them away, so in the log
/// they are marked.
struct AuditNotes {
  let path: String

  /// No more than these are kept.
  static let most = 1000

  /// Nil where there is no home.
  init?(_ identifier: String) {
    guard let folder = AnchorFolder.path else { return nil }
    path = folder + "/" + identifier + ".notes"
  }

  /// For tests.
  init(path: String) { self.path = path }

  /// False if there is no place for it.
  func add(_ entry: AuditEntry, of volume: Volume) -> Bool {
    let flags: OpenFlags = [.writeOnly, .create, .append, .noFollow, .nonBlocking]
    guard let note = try? volume.seal(entry), let file = try? System.open(path, flags),
      let status = try? System.status(of: file), status.isRegular,
      status.size < UInt64(Self.most * AuditNote.size)
    else { return false }
    do throws(Errno) {
      try System.send(file, note.bytes)
      try System.fdatasync(file)
      return true
    } catch { return false }
  }

  /// Nil if there are none.
  func read() -> Buffer? {
    guard let file = try? System.open(path, [.readOnly, .noFollow, .nonBlocking]),
      let status = try? System.status(of: file), status.isRegular,
      let bytes = try? System.readFile(path, limit: (Self.most + 1) * AuditNote.size),
      !bytes.isEmpty
    else { return nil }
    return Buffer(bytes)
  }

  /// They are in the log. With one more since, all stay.
  func forget(_ notes: Buffer) {
    if read().map({ $0.equals(notes.load(0..<notes.count), at: 0) && $0.count == notes.count })
      ?? false
    {
      try? System.remove(path)
    }
  }
}
