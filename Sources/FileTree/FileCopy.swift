import Bytes
package import POSIX
import Volume

/// Copies one file so that its name stands for the old content or for all of the new one.
///
/// The content goes to a name of its own in the same folder; when it is whole it lasts first, and
/// then takes the name. What goes wrong on the way, or stops it, leaves nothing.
package struct FileCopy {
  /// What is held of a file at a time.
  package static let pieceSize = 1 << 20

  let options: CopyOptions
  /// Held plaintext, so it is wiped when it goes.
  private let buffer = Buffer(count: pieceSize)

  package init(_ options: CopyOptions) { self.options = options }

  /// Copies a file with its attributes. The answer tells whether the target took all of them.
  @discardableResult
  package func copy(
    _ source: any File, to folder: any Folder, as name: [UInt8], syncing: Bool = true
  ) throws(CopyError) -> Bool {
    let information = try reading { () throws(VolumeError) in try source.information() }
    let extended = try reading { () throws(VolumeError) in try source.extendedAttributes() }
    let isWhole = try make(name, in: folder, syncing: syncing) { (draft) throws(CopyError) in
      try fill(draft, from: source, size: information.size)
      return KeptAttributes(information, extended)
    }
    options.copied()
    return isWhole
  }

  /// Copies what comes out of a stream, to its end. A file that is replaced leaves its permissions
  /// to the new one.
  package func copy(
    _ stream: ByteStream, to folder: any Folder, as name: [UInt8]
  ) throws(CopyError) {
    let before = try? folder.information(of: name)
    let permissions = before?.kind == .file ? (before?.permissions ?? 0o600) & 0o1777 : 0o600
    try make(name, in: folder, syncing: true) { (draft) throws(CopyError) in
      var offset: UInt64 = 0
      while true {
        let count: Int?
        do throws(Errno) {
          count = try stream.fill(buffer, isStopped: options.isStopped)
        } catch { throw .source(.system(error)) }
        guard let count else { throw .stopped }
        if count == 0 { break }
        try write(count, to: draft, at: offset)
        offset += UInt64(count)
      }
      return KeptAttributes(permissions: permissions)
    }
  }

  /// Sends the content of a file to a descriptor, such as that of standard output.
  package func send(
    _ source: any File, to target: borrowing Descriptor
  ) throws(CopyError) {
    var offset: UInt64 = 0
    while true {
      let count = try read(source, at: offset, limit: Self.pieceSize)
      if count == 0 { return options.copied() }
      // Before it goes: of a piece that is cut short nobody knows how much did go.
      options.tell(UInt64(count))
      do throws(Errno) { try System.send(target, buffer.bytes(in: 0..<count)) } catch {
        throw .target(.system(error))
      }
      offset += UInt64(count)
    }
  }

  // MARK: - Parts

  @discardableResult
  private func make(
    _ name: [UInt8], in folder: any Folder, syncing: Bool,
    _ body: (any File) throws(CopyError) -> KeptAttributes
  ) throws(CopyError) -> Bool {
    let draftName = Draft.name
    let draft = try writing { () throws(VolumeError) in try folder.makeFile(draftName) }
    do throws(CopyError) {
      let kept = try body(draft)
      return try writing { () throws(VolumeError) in
        let isWhole = try draft.take(kept)
        if syncing { try draft.sync() }
        try folder.rename(draftName, to: name, in: folder, replacing: options.replaces)
        if syncing { try folder.sync() }
        return isWhole
      }
    } catch {
      try? folder.remove(draftName, isFolder: false)
      throw error
    }
  }

  /// Holes stay holes. What comes to the file while it is copied is left out: it may be the copy
  /// itself that makes it grow. A file that tells no size, as those of /proc, is read to its end.
  private func fill(
    _ draft: any File, from source: any File, size: UInt64
  ) throws(CopyError) {
    guard size > 0 else {
      return try fill(draft, from: source, in: 0..<UInt64(Int64.max))
    }
    var offset: UInt64 = 0
    while offset < size {
      let from = offset
      let found = try reading { () throws(VolumeError) in try source.data(from: from) }
      guard let data = found, data.lowerBound < size else { break }
      let end = min(data.upperBound, size)
      options.tell(data.lowerBound - offset)
      try fill(draft, from: source, in: data.lowerBound..<end)
      offset = end
    }
    options.tell(size - offset)
    // It may have become shorter meanwhile.
    let now = try reading { () throws(VolumeError) in try source.information().size }
    try writing { () throws(VolumeError) in try draft.resize(to: min(size, now)) }
  }

  private func fill(
    _ draft: any File, from source: any File, in range: Range<UInt64>
  ) throws(CopyError) {
    var offset = range.lowerBound
    while offset < range.upperBound {
      if options.isStopped() { throw .stopped }
      let limit = Int(min(UInt64(Self.pieceSize), range.upperBound - offset))
      let count = try read(source, at: offset, limit: limit)
      if count == 0 { return }
      try write(count, to: draft, at: offset)
      offset += UInt64(count)
    }
  }

  private func read(
    _ source: any File, at offset: UInt64, limit: Int
  ) throws(CopyError) -> Int {
    var span = buffer.mutableBytes(in: 0..<limit)
    do throws(VolumeError) { return try source.read(into: &span, at: offset) } catch {
      throw .source(error)
    }
  }

  private func write(
    _ count: Int, to draft: any File, at offset: UInt64
  ) throws(CopyError) {
    do throws(VolumeError) {
      try draft.write(buffer.bytes(in: 0..<count), at: offset)
    } catch { throw .target(error) }
    options.tell(UInt64(count))
  }
}

/// Names for what is not whole yet.
package enum Draft {
  package static let prefix = Array(".coffre-".utf8)

  /// One that nobody else has.
  static var name: [UInt8] {
    prefix + Array(String(UInt64.random(in: 0...UInt64.max), radix: 16).utf8)
  }
}

func reading<R>(_ body: () throws(VolumeError) -> R) throws(CopyError) -> R {
  do { return try body() } catch { throw .source(error) }
}

func writing<R>(_ body: () throws(VolumeError) -> R) throws(CopyError) -> R {
  do { return try body() } catch { throw .target(error) }
}
