import Bytes
package import Disk
import Format
import POSIX

/// The files that hold slots: 256 MiB each, in one folder or, for metadata, in two with the same
/// content.
///
/// Slot n is at byte (n mod 65536) * 4096 of file n / 65536.
package final class Containers: Sendable {
  private let disk: any Disk
  package let folders: [String]
  private let open = Lock(OpenFiles())
  /// One more than the highest container there is; nil until somebody asks.
  private let extent = Lock<UInt32?>(nil)
  /// Held while files are synced. What failed to become durable is never synced again and called
  /// good (I9): the first failure stays.
  private let syncing = Lock<DiskError?>(nil)
  private static let maximumOpen = 256

  /// One file: a container in one of the folders.
  private struct Key: Hashable {
    let index: UInt32
    let copy: Int
  }

  private struct OpenFiles {
    var files: [Key: (file: any DiskFile, isWritable: Bool, used: UInt64)] = [:]
    var clock: UInt64 = 0
    var unsynced: Set<Key> = []
    /// Those that a sync under way has taken over from `unsynced`.
    var syncing: Set<Key> = []
    /// True at first: a session before may have been killed after it made a name and before it
    /// synced it. The kernel shows such a name, and a power loss takes it.
    var newNames = true
  }

  package init(disk: any Disk, folders: [String]) {
    self.disk = disk
    self.folders = folders
  }

  /// Containers up to the last one there is.
  package func count() throws(DiskError) -> Int {
    try extent.withLock { extent throws(DiskError) in
      if let extent { return Int(extent) }
      let indices = try disk.list(folders[0]).compactMap { UInt32($0, radix: 16) }
      let count = indices.filter { $0 <= 0xffff }.reduce(0) { max($0, $1 + 1) }
      extent = count
      return Int(count)
    }
  }

  /// Reads whole slots from one copy. False if the container is missing or ends before them.
  package func read(
    _ slots: Range<UInt32>, copy: Int, into span: inout MutableRawSpan
  ) throws(DiskError) -> Bool {
    precondition(span.byteCount == slots.count * Layout.chunkSize)
    let file: any DiskFile
    do { file = try container(of: slots.lowerBound, copy: copy, create: false) } catch {
      if error.errno == .noSuchFile { return false }
      throw error
    }
    let count = try file.read(into: &span, at: Self.offset(of: slots.lowerBound))
    return count == span.byteCount
  }

  /// Writes whole slots of one container to every copy. They last after `sync`.
  package func write(_ span: RawSpan, at slot: UInt32) throws(DiskError) {
    precondition(span.byteCount % Layout.chunkSize == 0)
    precondition(
      Int(slot % Layout.slotsPerContainer) + span.byteCount / Layout.chunkSize
        <= Int(Layout.slotsPerContainer))
    for copy in folders.indices { try write(span, at: slot, copy: copy) }
  }

  /// Writes whole slots of one copy.
  package func write(_ span: RawSpan, at slot: UInt32, copy: Int) throws(DiskError) {
    try change(slot, copy: copy) { (file) throws(DiskError) in
      try file.write(span, at: Self.offset(of: slot))
    }
  }

  /// Makes everything whose writing was done when this was called last.
  ///
  /// One at a time: whoever comes while a sync runs must not return before what that sync took on
  /// is durable.
  package func sync() throws(DiskError) {
    try syncing.withLock { failed throws(DiskError) in
      if let failed { throw failed }
      let (keys, newNames) = open.withLock { state in
        defer {
          state.syncing = state.unsynced
          state.unsynced.removeAll()
          state.newNames = false
        }
        return (state.unsynced, state.newNames)
      }
      do throws(DiskError) {
        for key in keys.sorted(by: { ($0.index, $0.copy) < ($1.index, $1.copy) }) {
          try openFile(key, create: false).sync()
        }
        if newNames { for folder in folders { try disk.syncFolder(folder) } }
        open.withLock { $0.syncing.removeAll() }
      } catch {
        failed = error
        throw error
      }
    }
  }

  /// Reserves room for slots in every copy, so that writing them finds space.
  package func allocate(_ slots: Range<UInt32>) throws(DiskError) {
    let bytes = Self.bytes(of: slots)
    for copy in folders.indices {
      try change(slots.lowerBound, copy: copy) { (file) throws(DiskError) in
        try file.allocate(bytes)
      }
    }
  }

  /// Gives the space of slots back, where the lower filesystem can.
  package func punch(_ slots: Range<UInt32>) throws(DiskError) {
    let bytes = Self.bytes(of: slots)
    for copy in folders.indices {
      try change(slots.lowerBound, copy: copy) { (file) throws(DiskError) in
        _ = try file.punch(bytes)
      }
    }
  }

  /// The file is noted as unsynced before the change, so that it stays open, and again after it: a
  /// sync in between has not seen the change.
  private func change(
    _ slot: UInt32, copy: Int, _ body: (any DiskFile) throws(DiskError) -> Void
  ) throws(DiskError) {
    let key = Key(index: slot / Layout.slotsPerContainer, copy: copy)
    let file = try openFile(key, create: true, toChange: true)
    defer { open.withLock { _ = $0.unsynced.insert(key) } }
    try body(file)
  }

  /// Slots that the first copy's files hold from slot 0 on without a gap.
  package func backedSlots() throws(DiskError) -> UInt32 {
    var slots: UInt32 = 0
    while slots <= UInt32.max - Layout.slotsPerContainer {
      var smallest = UInt64.max
      for copy in folders.indices {
        do {
          let size = try container(of: slots, copy: copy, create: false).size()
          smallest = min(smallest, size)
        } catch {
          // Whoever writes is told what is in the file's place; the other copy can be read.
          if error.errno == .noSuchFile || error.displaced != nil { return slots }
          throw error
        }
      }
      let whole = min(smallest / UInt64(Layout.chunkSize), UInt64(Layout.slotsPerContainer))
      slots += UInt32(whole)
      if whole < UInt64(Layout.slotsPerContainer) { break }
    }
    return slots
  }

  package static func name(of slot: UInt32, in folder: String) -> String {
    name(ofContainer: slot / Layout.slotsPerContainer, in: folder)
  }

  /// The slot's number within its container.
  package static func place(of slot: UInt32) -> UInt32 { slot % Layout.slotsPerContainer }

  private static func name(ofContainer index: UInt32, in folder: String) -> String {
    let number = String(index, radix: 16)
    return folder + "/" + String(repeating: "0", count: 4 - number.count) + number
  }

  private static func offset(of slot: UInt32) -> UInt64 {
    UInt64(slot % Layout.slotsPerContainer) * UInt64(Layout.chunkSize)
  }

  private static func bytes(of slots: Range<UInt32>) -> Range<UInt64> {
    let start = offset(of: slots.lowerBound)
    return start..<(start + UInt64(slots.count * Layout.chunkSize))
  }

  /// `create` is for whoever writes.
  private func container(
    of slot: UInt32, copy: Int, create: Bool
  ) throws(DiskError) -> any DiskFile {
    try openFile(Key(index: slot / Layout.slotsPerContainer, copy: copy), create: create)
  }

  private func openFile(
    _ key: Key, create: Bool, toChange: Bool = false
  ) throws(DiskError) -> any DiskFile {
    try open.withLock { state throws(DiskError) in
      state.clock += 1
      if let entry = state.files[key], entry.isWritable || !create {
        state.files[key]?.used = state.clock
        if toChange { state.unsynced.insert(key) }
        return entry.file
      }
      if state.files.count >= Self.maximumOpen { Self.closeOldest(&state) }
      let name = Self.name(ofContainer: key.index, in: folders[key.copy])
      var isWritable = true
      let file: any DiskFile
      do throws(DiskError) { file = try disk.open(name, writable: true) } catch {
        if !create, Self.isForReading(error.errno) {
          file = try disk.open(name, writable: false)
          isWritable = false
        } else {
          guard create, error.errno == .noSuchFile else { throw error }
          file = try disk.create(name)
          state.newNames = true
          extent.withLock { extent in extent = extent.map { max($0, key.index + 1) } }
        }
      }
      state.files[key] = (file, isWritable, state.clock)
      if toChange { state.unsynced.insert(key) }
      return file
    }
  }

  /// Whether a file that can't be opened for writing may still be read.
  private static func isForReading(_ errno: Errno) -> Bool {
    [.readOnly, .accessDenied, .notPermitted, .tooManyLinks].contains(errno)
  }

  /// An object with unsynced writes is never closed: its failure would go unseen.
  private static func closeOldest(_ state: inout OpenFiles) {
    let oldest = state.files
      .filter { !state.unsynced.contains($0.key) && !state.syncing.contains($0.key) }
      .min { $0.value.used < $1.value.used }
    if let oldest { state.files[oldest.key] = nil }
  }
}
