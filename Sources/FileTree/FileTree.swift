package import POSIX
package import Volume

/// Something of a tree of files that is open.
///
/// There are two kinds of trees: a volume this process has opened itself, and a directory of the
/// system, which is a mount of a vault or any other folder. Verbs work on both alike. Errors are a
/// volume's, whatever the tree.
package protocol OpenEntry: AnyObject {
  /// As it is now.
  func information() throws(VolumeError) -> FileInformation
  /// Which file of the system it is; nil in a volume, where nothing of the system can be.
  var identity: String? { get }
  /// Takes what `kept` says over. Attributes that the tree has no place for are left out: then the
  /// answer is false.
  func take(_ kept: KeptAttributes) throws(VolumeError) -> Bool
  /// The extended attributes that a copy keeps.
  func extendedAttributes() throws(VolumeError) -> [ExtendedAttribute]
  /// What was written lasts when this returns; of a folder, its names.
  func sync() throws(VolumeError)
}

/// A directory that is open. Names are single components; a link that has the name is not followed.
package protocol Folder: OpenEntry {
  func information(of name: [UInt8]) throws(VolumeError) -> FileInformation
  /// All of them, in no order, without `.` and `..`.
  func names() throws(VolumeError) -> [[UInt8]]
  /// ENOTDIR if it is none.
  func folder(_ name: [UInt8]) throws(VolumeError) -> any Folder
  /// Opens a regular file to be read.
  func file(_ name: [UInt8]) throws(VolumeError) -> any File
  /// Makes a new file, for its owner alone, to be written.
  func makeFile(_ name: [UInt8]) throws(VolumeError) -> any File
  func makeFolder(_ name: [UInt8]) throws(VolumeError)
  func makeLink(_ name: [UInt8], to target: [UInt8]) throws(VolumeError)
  func linkTarget(of name: [UInt8]) throws(VolumeError) -> [UInt8]
  /// Owner and time of a link itself.
  func take(_ kept: KeptAttributes, forLink name: [UInt8]) throws(VolumeError)
  func remove(_ name: [UInt8], isFolder: Bool) throws(VolumeError)
  /// To a folder of the same tree. EEXIST if the new name is there, unless `replacing`.
  func rename(
    _ name: [UInt8], to newName: [UInt8], in folder: any Folder, replacing: Bool
  ) throws(VolumeError)
}

/// A regular file that is open.
package protocol File: OpenEntry {
  /// Short only at the end of the file.
  func read(into span: inout MutableRawSpan, at offset: UInt64) throws(VolumeError) -> Int
  func write(_ span: RawSpan, at offset: UInt64) throws(VolumeError)
  /// The next bytes that are no hole, at or after an offset; nil if there are none.
  func data(from offset: UInt64) throws(VolumeError) -> Range<UInt64>?
  func resize(to size: UInt64) throws(VolumeError)
}

/// What verbs look at of a file.
package struct FileInformation: Hashable, Sendable {
  /// Type and permission bits, as in `st_mode`.
  package var mode: UInt32
  package var user: UInt32
  package var group: UInt32
  package var links: UInt64
  package var size: UInt64
  package var modified: Timestamp

  package enum Kind: String, Hashable, Sendable {
    case file
    case folder = "directory"
    case link
    case fifo
    case socket
    case device
  }

  package var kind: Kind {
    switch mode & FileMode.typeMask {
    case FileMode.directory: .folder
    case FileMode.symlink: .link
    case FileMode.fifo: .fifo
    case FileMode.socket: .socket
    case FileMode.regular: .file
    default: .device
    }
  }

  package var permissions: UInt32 { mode & FileMode.permissionMask }
}

extension FileInformation {
  package init(_ status: FileStatus) {
    self.init(
      mode: status.mode, user: status.user, group: status.group, links: status.links,
      size: status.size,
      modified: Timestamp(
        seconds: status.modifiedSeconds, nanoseconds: status.modifiedNanoseconds))
  }

  init(_ attributes: Attributes) {
    self.init(
      mode: attributes.mode, user: attributes.user, group: attributes.group,
      links: UInt64(attributes.links), size: attributes.size, modified: attributes.modified)
  }
}

package struct ExtendedAttribute: Hashable, Sendable {
  package let name: [UInt8]
  package let value: [UInt8]

  package init(name: [UInt8], value: [UInt8]) {
    self.name = name
    self.value = value
  }

  /// Whether a copy keeps one of that name: what the user has put there, and the permissions of
  /// acl(5); for root, whose it is, the rest. Labels of a security module belong to a place.
  static func isKept(_ name: [UInt8]) -> Bool {
    func begins(with prefix: String) -> Bool { name.starts(with: prefix.utf8) }
    if begins(with: "user.") || begins(with: "system.posix_acl_") { return true }
    return System.userNumber == 0
      && (begins(with: "trusted.") || begins(with: "security.capability"))
  }
}

/// What a copy keeps of the file it was made from, beside the content.
package struct KeptAttributes: Hashable, Sendable {
  package struct Owner: Hashable, Sendable {
    package let user: UInt32
    package let group: UInt32
  }

  package var permissions: UInt32
  package var modified: Timestamp?
  /// Only root gives files away.
  package var owner: Owner?
  package var extended: [ExtendedAttribute] = []

  /// Permissions alone.
  package init(permissions: UInt32) { self.permissions = permissions }

  /// Without its owner a file must not run with the owner's rights.
  package init(_ information: FileInformation, _ extended: [ExtendedAttribute] = []) {
    let isRoot = System.userNumber == 0
    permissions = information.permissions & (isRoot ? 0o7777 : 0o1777)
    modified = information.modified
    owner = isRoot ? Owner(user: information.user, group: information.group) : nil
    self.extended = extended
  }
}
