package import POSIX
package import Volume

/// A regular file of the system.
package final class SystemFile: File, SystemEntry {
  package let handle: SystemHandle

  /// Throws for what is no regular file: it may never end, or be a terminal.
  package init(_ descriptor: consuming Descriptor) throws(VolumeError) {
    handle = SystemHandle(descriptor)
    let mode = try handle.status().mode
    guard mode & FileMode.typeMask == FileMode.regular else {
      throw .system(mode & FileMode.typeMask == FileMode.directory ? .isDirectory : .invalid)
    }
  }

  package func read(
    into span: inout MutableRawSpan, at offset: UInt64
  ) throws(VolumeError) -> Int {
    do { return try System.read(handle.descriptor, into: &span, at: offset) } catch {
      throw .system(error)
    }
  }

  package func write(_ span: RawSpan, at offset: UInt64) throws(VolumeError) {
    do { try System.write(handle.descriptor, span, at: offset) } catch { throw .system(error) }
  }

  package func data(from offset: UInt64) throws(VolumeError) -> Range<UInt64>? {
    try answer { () throws(Errno) in try System.data(of: handle.descriptor, from: offset) }
  }

  package func resize(to size: UInt64) throws(VolumeError) {
    try answer { () throws(Errno) in try System.resize(handle.descriptor, to: size) }
  }
}

/// A descriptor that several may look at.
package final class SystemHandle: Sendable {
  let descriptor: Descriptor

  init(_ descriptor: consuming Descriptor) { self.descriptor = descriptor }

  func status() throws(VolumeError) -> FileStatus {
    try answer { () throws(Errno) in try System.status(of: descriptor) }
  }
}

/// What folders and files of the system have in common.
package protocol SystemEntry: OpenEntry {
  var handle: SystemHandle { get }
}

extension SystemEntry {
  package func information() throws(VolumeError) -> FileInformation {
    FileInformation(try handle.status())
  }

  package var identity: String? { (try? handle.status())?.identity }

  /// In an order in which nothing takes back what came before: a new owner takes rights away.
  package func take(_ kept: KeptAttributes) throws(VolumeError) -> Bool {
    try answer { () throws(Errno) in
      if let owner = kept.owner {
        try System.changeOwner(of: handle.descriptor, user: owner.user, group: owner.group)
      }
      var isWhole = true
      for attribute in kept.extended {
        do throws(Errno) {
          try System.setAttribute(attribute.name, to: attribute.value, of: handle.descriptor)
        } catch {
          guard Self.hasNoPlace(error) else { throw error }
          isWhole = false
        }
      }
      try System.changeMode(of: handle.descriptor, to: kept.permissions)
      if let time = kept.modified {
        try System.setModified(
          of: handle.descriptor, seconds: time.seconds, nanoseconds: time.nanoseconds)
      }
      return isWhole
    }
  }

  /// Whether an attribute is too much for a filesystem, or none of its business. One that is full
  /// can't be told from one whose attributes are; content will tell.
  private static func hasNoPlace(_ error: Errno) -> Bool {
    error.isFull || [.notSupported, .tooBig, .range, .notPermitted].contains(error)
  }

  package func extendedAttributes() throws(VolumeError) -> [ExtendedAttribute] {
    try answer { () throws(Errno) in
      var found: [ExtendedAttribute] = []
      for name in try System.attributeNames(of: handle.descriptor)
      where ExtendedAttribute.isKept(name) {
        do throws(Errno) {
          let value = try System.attribute(name, of: handle.descriptor)
          found.append(ExtendedAttribute(name: name, value: value))
        } catch {
          // It was removed meanwhile.
          guard error == .noData else { throw error }
        }
      }
      return found
    }
  }

  package func sync() throws(VolumeError) {
    try answer { () throws(Errno) in try System.fsync(handle.descriptor) }
  }
}

/// A system's error as the volume would tell it.
func answer<R>(_ body: () throws(Errno) -> R) throws(VolumeError) -> R {
  do { return try body() } catch { throw .system(error) }
}
