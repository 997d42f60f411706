import POSIX

/// Keeps programs from writing into the empty mount point while the vault is locked: the next save
/// of an editor would land there in clear.
///
/// The folder below the mount is write-protected as soon as the mount lies over it, and stays so,
/// whatever becomes of this process. `chmod u+w` takes that back, or `chattr -i` what root has.
struct MountPointGuard: ~Copyable {
  let folder: Descriptor
  private let before: FileStatus

  private static let writeBits: UInt32 = 0o222

  /// Takes hold of the folder, and makes it writable for a moment where an earlier guard has made
  /// it otherwise: fusermount3(1) mounts for a user only where that user may write.
  ///
  /// The path was looked at before the password was typed, and whoever may write in a folder above
  /// can have put something else in its place since, such as a link to /etc. So it is looked at
  /// once more, at what is held from now on: ELOOP if a link leads elsewhere, ENOTEMPTY.
  init(_ mountPoint: String) throws(Errno) {
    let folder = try System.open(mountPoint, [.directory, .noFollow, .nonBlocking])
    if let path = System.path(of: folder), !path.hasSameBytes(as: mountPoint) { throw .loop }
    guard try System.names(in: folder).isEmpty else { throw .notEmpty }
    let before = try System.status(of: folder)
    if System.userNumber != 0, before.user == System.userNumber, before.permissions & 0o200 == 0 {
      try? System.changeMode(of: folder, to: before.permissions | 0o200)
    }
    self.folder = folder
    self.before = before
  }

  /// The folder as it was: the mount did not come about, or nobody wants a guard.
  func restore() {
    guard (try? System.status(of: folder))?.mode != before.mode else { return }
    try? System.changeMode(of: folder, to: before.permissions)
  }

  /// Write-protects the folder, which is below the mount by now. Answers with what a person should
  /// know of it.
  func protect() -> [String] {
    var notices: [String] = []
    if let names = try? System.names(in: folder), !names.isEmpty {
      notices.append("something was saved in the mount point while it was mounted: see below it")
    }
    // The owner of a folder that root mounts on could not take the flag away again.
    if System.userNumber == 0, before.user == 0 { try? System.setImmutable(folder, true) }
    if !isProtected {
      try? System.changeMode(of: folder, to: before.permissions & ~Self.writeBits)
    }
    if !isProtected {
      notices.append(
        "the mount point can't be write-protected (\(reason)), so what programs save there "
          + "while the vault is locked is stored in clear")
    }
    return notices
  }

  private var reason: String {
    if System.userNumber != 0, before.user != System.userNumber {
      return "it belongs to another user"
    }
    return System.userNumber == 0 && before.user == 0
      ? "its filesystem has no flag that holds for root" : "its filesystem keeps no modes"
  }

  /// From the programs of the folder's owner.
  private var isProtected: Bool {
    if System.isImmutable(folder) || System.isReadOnly(folder) { return true }
    if System.userNumber == 0, before.user == 0 { return false }
    guard let now = try? System.status(of: folder) else { return false }
    return now.mode & Self.writeBits == 0
  }
}
