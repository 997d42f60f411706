import Bytes
import Crypto
import Disk
import Format
import POSIX

/// The two files that hold the root: both written at every checkpoint, one after the other.
struct RootFiles {
  static let names = ["root.0", "root.1"]

  struct Copy {
    let record: RootRecord
    let sealed: Buffer
    var tag: Tag { Tag(from: sealed, at: Layout.rootSize - 16) }
  }

  let disk: any Disk
  let key: SealingKey

  init(disk: any Disk, master: borrowing SecretBytes, vault: [UInt8]) {
    self.disk = disk
    let zero = Buffer(count: 32)
    key = SealingKey(KeyDerivation.derive(.root, from: master, vault: vault, context: zero.bytes))
  }

  func seal(_ record: RootRecord) -> Copy {
    let plain = record.encoded()
    let sealed = Buffer(count: Layout.rootSize)
    let iv = Random.iv()
    iv.store(to: sealed, at: 0)
    let tag = key.seal(
      plain, 0..<plain.count, into: sealed, at: 12, iv: iv, additional: Self.additional)
    tag.store(to: sealed, at: Layout.rootSize - 16)
    return Copy(record: record, sealed: sealed)
  }

  private static let additional = AdditionalData(kind: SealedKind.root, 0, 0)

  /// A copy, or nil if it is missing, cut or does not authenticate.
  func read(_ index: Int) throws(EngineError) -> Copy? {
    let sealed = Buffer(count: Layout.rootSize)
    do {
      let file = try disk.open(Self.names[index], writable: false)
      guard try file.size() == UInt64(Layout.rootSize) else { return nil }
      var span = sealed.mutableBytes(in: 0..<Layout.rootSize)
      guard try file.read(into: &span, at: 0) == Layout.rootSize else { return nil }
    } catch {
      // An unreadable copy is a bad copy, as long as the other one is true.
      return nil
    }
    let plain = Buffer(count: Layout.rootSize - 28)
    guard
      key.open(
        sealed, 12..<(Layout.rootSize - 16), into: plain, at: 0, iv: IV(from: sealed, at: 0),
        tag: Tag(from: sealed, at: Layout.rootSize - 16), additional: Self.additional)
    else { return nil }
    do { return Copy(record: try RootRecord(decoding: plain), sealed: sealed) } catch {
      switch error {
      case .unsupported: throw .unsupported("the root")
      case .malformed: throw .damaged(Self.names[index])
      }
    }
  }

  /// Makes a copy that is there last.
  func sync(_ index: Int) throws(DiskError) {
    try disk.open(Self.names[index], writable: true).sync()
  }

  /// Writes one copy and syncs it.
  func write(_ copy: Copy, to index: Int) throws(DiskError) {
    let file = try file(index)
    // What somebody hung on would make it a bad copy for ever.
    if try file.size() > UInt64(Layout.rootSize) { try file.resize(UInt64(Layout.rootSize)) }
    try file.write(copy.sealed.bytes, at: 0)
    try file.sync()
  }

  private func file(_ index: Int) throws(DiskError) -> any DiskFile {
    let name = Self.names[index]
    do { return try disk.open(name, writable: true) } catch {
      // A link or a pipe is no copy, and one file with two names is one copy: the other file, or
      // the other name, has what counts.
      guard error.errno == .noSuchFile || error.displaced != nil else { throw error }
      if error.displaced != nil { try disk.remove(name) }
      let file = try disk.create(name)
      try disk.syncFolder("")
      return file
    }
  }
}
