package import Bytes
import Crypto
import Engine
package import Format

/// An entry for the audit log that waits outside of the vault: IV 12, zeros 4, tag 16, ciphertext
/// 96.
package enum AuditNote {
  package static let size = 32 + AuditEntry.size

  static let additional = AdditionalData(kind: SealedKind.note, 0, 0)
}

extension Volume {
  package func seal(_ entry: AuditEntry) throws(VolumeError) -> Buffer {
    let key = try answer { () throws(EngineError) in try engine.noteKey() }
    let plain = Buffer(count: AuditEntry.size)
    entry.store(to: plain, at: 0)
    let note = Buffer(count: AuditNote.size)
    let iv = Random.iv()
    iv.store(to: note, at: 0)
    let tag = key.seal(
      plain, 0..<plain.count, into: note, at: 32, iv: iv, additional: AuditNote.additional)
    tag.store(to: note, at: 16)
    return note
  }

  /// The entries of a file of notes, in order and each once. What is none, as somebody else may
  /// have written it, is left out.
  package func entries(ofNotes notes: Buffer) -> [AuditEntry] {
    guard let key = try? engine.noteKey() else { return [] }
    let plain = Buffer(count: AuditEntry.size)
    var found: [AuditEntry] = []
    var seen: Set<AuditEntry> = []
    for start in stride(from: 0, through: notes.count - AuditNote.size, by: AuditNote.size) {
      let isTrue = key.open(
        notes, (start + 32)..<(start + AuditNote.size), into: plain, at: 0,
        iv: IV(from: notes, at: start), tag: Tag(from: notes, at: start + 16),
        additional: AuditNote.additional)
      guard isTrue, var entry = AuditEntry(from: plain, at: 0) else { continue }
      entry.number = 0
      entry.isNoted = true
      if seen.insert(entry).inserted { found.append(entry) }
    }
    return found
  }

  /// The same without those that the log has already: a file of notes may have been put back.
  package func newEntries(ofNotes notes: Buffer) throws(VolumeError) -> [AuditEntry] {
    let found = entries(ofNotes: notes)
    guard !found.isEmpty else { return [] }
    let known = Set(
      try auditRecord().entries.filter(\.isNoted).map { entry in
        var entry = entry
        entry.number = 0
        return entry
      })
    return found.filter { !known.contains($0) }
  }
}
