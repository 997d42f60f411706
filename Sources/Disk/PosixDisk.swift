import Bytes
import POSIX
import Synchronization

/// The folder of a vault on a real filesystem.
///
/// Everything is opened relative to the folder's descriptor; links are not followed, and what is
/// not a regular file is refused without waiting for it.
package final class PosixDisk: Disk {
  private let folder: Descriptor
  private let finished = FinishedCalls()
  /// Calls on its files that have come to their end: whoever waits for a slow disk sees by this
  /// that it is not one that hangs.
  package var finishedCalls: Int { finished.count.load(ordering: .relaxed) }

  /// Opens a folder that exists.
  package init(path: String) throws(DiskError) {
    do { folder = try System.open(path, [.directory]) } catch {
      throw DiskError(errno: error, operation: "open", object: "")
    }
  }

  package func open(_ name: String, writable: Bool) throws(DiskError) -> any DiskFile {
    try attempt("open", name) { () throws(Errno) in
      let flags: OpenFlags = writable ? .readWrite : .readOnly
      return try file(name, flags.union([.noFollow, .nonBlocking]))
    }
  }

  package func create(_ name: String) throws(DiskError) -> any DiskFile {
    try attempt("create", name) { () throws(Errno) in
      try file(name, [.readWrite, .create, .exclusive, .noFollow, .nonBlocking])
    }
  }

  package func createFolder(_ name: String) throws(DiskError) {
    precondition(Self.isPlain(name), "folders are in the vault itself")
    try attempt("mkdir", name) { () throws(Errno) in
      do throws(Errno) { try System.makeDirectory(name, in: folder, mode: 0o700) } catch {
        guard error == .exists else { throw error }
        // Something is there: it must be a folder.
        _ = try System.open(name, in: folder, [.directory, .noFollow])
      }
    }
  }

  package func remove(_ name: String) throws(DiskError) {
    try attempt("unlink", name) { () throws(Errno) in
      let place = try place(of: name)
      try System.remove(place.name, in: place.parent)
    }
  }

  package func rename(_ name: String, to newName: String) throws(DiskError) {
    try attempt("rename", newName) { () throws(Errno) in
      let old = try place(of: name)
      let new = try place(of: newName)
      try System.rename(old.name, in: old.parent, to: new.name, in: new.parent)
    }
  }

  package func list(_ folder: String) throws(DiskError) -> [String] {
    try attempt("readdir", folder) { () throws(Errno) in
      try System.names(in: try directory(folder))
    }
  }

  package func syncFolder(_ folder: String) throws(DiskError) {
    try attempt("fsync", folder) { () throws(Errno) in
      try System.fsync(try directory(folder))
    }
  }

  package func space() throws(DiskError) -> DiskSpace {
    try attempt("statvfs", "") { () throws(Errno) in
      let space = try System.space(of: folder)
      return DiskSpace(total: space.total, free: space.free)
    }
  }

  /// Holds the vault's `lock` file, flock(2), until the returned token is released. EAGAIN if
  /// another process holds it. The file is never replaced. Where none can be made, nobody writes,
  /// and a reader needs no lock.
  package func lock(exclusive: Bool) throws(DiskError) -> VaultLock {
    try attempt("flock", "lock") { () throws(Errno) in
      let descriptor: Descriptor
      try Self.refuseDevice("lock", in: folder)
      do throws(Errno) {
        descriptor = try System.open(
          "lock", in: folder, [.readWrite, .create, .noFollow, .nonBlocking])
      } catch {
        guard !exclusive, error == .readOnly || error == .accessDenied else { throw error }
        let refusal = error
        do throws(Errno) {
          descriptor = try System.open("lock", in: folder, [.noFollow, .nonBlocking])
        } catch {
          guard error == .noSuchFile else { throw error }
          // A folder that others may write is another matter than a medium that nobody can.
          guard refusal == .readOnly else { throw refusal }
          return VaultLock(nil)
        }
      }
      guard try System.status(of: descriptor).isRegular else { throw .invalid }
      try System.lock(descriptor, exclusive: exclusive)
      return VaultLock(descriptor)
    }
  }

  // MARK: - Parts

  private func attempt<R: ~Copyable>(
    _ operation: String, _ object: String, _ body: () throws(Errno) -> R
  ) throws(DiskError) -> R {
    do { return try body() } catch {
      throw DiskError(errno: error, operation: operation, object: object)
    }
  }

  /// The vault itself or a folder in it.
  private func directory(_ name: String) throws(Errno) -> Descriptor {
    precondition(name.isEmpty || Self.isPlain(name), "folders are in the vault itself")
    return try System.open(name.isEmpty ? "." : name, in: folder, [.directory, .noFollow])
  }

  /// The folder a name is in, and the name there.
  private struct Place: ~Copyable {
    let parent: Descriptor
    let name: String
  }

  private func place(of name: String) throws(Errno) -> Place {
    let parts = name.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
      .map(String.init)
    precondition(
      parts.allSatisfy(Self.isPlain), "a name has at most one slash and stays in the vault")
    let folder = parts.count == 2 ? parts[0] : ""
    return Place(parent: try directory(folder), name: parts[parts.count - 1])
  }

  /// Whether a name leads from a folder to something in it and nowhere else. All names are Coffre's
  /// own, so one that does not is a mistake in the program.
  private static func isPlain(_ name: String) -> Bool {
    !name.isEmpty && name != "." && name != ".." && !name.utf8.contains { $0 == 0x2f || $0 == 0 }
  }

  /// A device may do something when it is opened, so that is not tried. open(2) refuses links and
  /// folders; what takes the name in between is seen after it.
  private static func refuseDevice(
    _ name: String, in parent: borrowing Descriptor
  ) throws(Errno) {
    let found: FileStatus
    do throws(Errno) { found = try System.status(of: name, in: parent) } catch {
      guard error == .noSuchFile else { throw error }
      return
    }
    guard found.isRegular || found.isDirectory || found.isLink else { throw .invalid }
  }

  private func file(_ name: String, _ flags: OpenFlags) throws(Errno) -> any DiskFile {
    let place = try place(of: name)
    if !flags.contains(.create) { try Self.refuseDevice(place.name, in: place.parent) }
    let descriptor = try System.open(place.name, in: place.parent, flags)
    let status = try System.status(of: descriptor)
    guard status.isRegular else { throw .invalid }
    guard status.links <= 1 || !flags.contains(.readWrite) else { throw .tooManyLinks }
    return PosixFile(descriptor, name: name, finished)
  }
}

/// Keeps the vault locked while it lives.
package final class VaultLock: Sendable {
  private let descriptor: Descriptor?
  init(_ descriptor: consuming Descriptor?) { self.descriptor = descriptor }
}

/// Counts what has come to its end, well or not.
final class FinishedCalls: Sendable {
  let count = Atomic<Int>(0)
  func add() { count.wrappingAdd(1, ordering: .relaxed) }
}

/// A regular file of the vault.
final class PosixFile: DiskFile {
  private let descriptor: Descriptor
  private let name: String
  private let finished: FinishedCalls

  init(_ descriptor: consuming Descriptor, name: String, _ finished: FinishedCalls) {
    self.descriptor = descriptor
    self.name = name
    self.finished = finished
  }

  func read(into span: inout MutableRawSpan, at offset: UInt64) throws(DiskError) -> Int {
    defer { finished.add() }
    do { return try System.read(descriptor, into: &span, at: offset) } catch {
      throw DiskError(errno: error, operation: "pread", object: name)
    }
  }

  func write(_ span: RawSpan, at offset: UInt64) throws(DiskError) {
    defer { finished.add() }
    do { try System.write(descriptor, span, at: offset) } catch {
      throw DiskError(errno: error, operation: "pwrite", object: name)
    }
  }

  func sync() throws(DiskError) {
    defer { finished.add() }
    do { try System.fdatasync(descriptor) } catch {
      throw DiskError(errno: error, operation: "fdatasync", object: name)
    }
  }

  func allocate(_ range: Range<UInt64>) throws(DiskError) {
    defer { finished.add() }
    do { try System.allocate(descriptor, range) } catch {
      throw DiskError(errno: error, operation: "fallocate", object: name)
    }
  }

  func punch(_ range: Range<UInt64>) throws(DiskError) -> Bool {
    defer { finished.add() }
    do { return try System.punch(descriptor, range) } catch {
      throw DiskError(errno: error, operation: "fallocate", object: name)
    }
  }

  func size() throws(DiskError) -> UInt64 {
    do { return try System.status(of: descriptor).size } catch {
      throw DiskError(errno: error, operation: "fstat", object: name)
    }
  }

  func resize(_ size: UInt64) throws(DiskError) {
    defer { finished.add() }
    do { try System.resize(descriptor, to: size) } catch {
      throw DiskError(errno: error, operation: "ftruncate", object: name)
    }
  }
}
