package import Format
import POSIX
import Volume

/// The one way into a vault's audit log. Nothing waits for it or fails by it: what can't be written
/// is noted beside the anchor, and if that fails, too, it is counted and told.
package final class AuditWriter: Sendable {
  private struct State {
    /// Entries that are nowhere.
    var missed: UInt64 = 0
    /// Why the last entry is not in the log, as a sentence.
    var problem: String?
  }

  private let volume: Volume
  /// Nil where there is no home.
  private let notes: AuditNotes?
  /// Held while something is written, which may take as long as the disk does.
  private let writing = Lock(())
  private let state = Lock(State())

  /// `identifier` is the vault's id.
  convenience init(_ volume: Volume, vault identifier: String) {
    self.init(volume, notes: AuditNotes(identifier))
  }

  init(_ volume: Volume, notes: AuditNotes?) {
    self.volume = volume
    self.notes = notes
  }

  /// Writes an entry, as of the user who asked for what was done; durable when this returns, or,
  /// if the vault is closed next, when it is closed. `false` if it is not in the log.
  @discardableResult
  package func record(
    _ event: AuditEvent, user: UInt32? = nil, isClosing: Bool = false
  ) -> Bool {
    record([event], user: user, isClosing: isClosing)
  }

  @discardableResult
  func record(
    _ events: [AuditEvent], user: UInt32? = nil, isClosing: Bool = false
  ) -> Bool {
    let entries = events.map {
      AuditEntry(
        $0, time: Clock.now, user: user ?? System.userNumber, program: System.programName)
    }
    // One at a time, so that what is noted is taken over once.
    return writing.withLock { _ in
      if volume.isReadOnly {
        note(entries)
        return false
      }
      do throws(VolumeError) {
        try append(entries, isClosing)
        return true
      } catch {
        let reason = error.errno.description.lowercased()
        state.withLock { $0.problem = "the audit log can't be written: \(reason)" }
        note(entries)
        return false
      }
    }
  }

  private func append(
    _ entries: [AuditEntry], _ isClosing: Bool
  ) throws(VolumeError) {
    let noted = notes?.read()
    var all: [AuditEntry] = []
    if let noted { all = try volume.newEntries(ofNotes: noted) }
    let missed = state.withLock { $0.missed }
    if missed > 0, let first = entries.first {
      all.append(
        AuditEntry(
          .missed(entries: missed), time: first.time, user: first.user,
          program: first.program))
    }
    try volume.append(all + entries, isClosing: isClosing)
    if let noted { notes?.forget(noted) }
    state.withLock { $0 = State() }
  }

  private func note(_ entries: [AuditEntry]) {
    for entry in entries {
      guard let notes, notes.add(entry, of: volume) else {
        state.withLock { $0.missed += 1 }
        continue
      }
    }
  }

  /// What is wrong with the log while the vault is mounted, as sentences. Does not wait for the
  /// disk.
  package var problems: [String] {
    state.withLock { state in
      let noun = state.missed == 1 ? "entry" : "entries"
      let missed = "\(state.missed) \(noun) of the audit log could be written nowhere"
      return (state.problem.map { [$0] } ?? []) + (state.missed == 0 ? [] : [missed])
    }
  }
}
