import POSIX
import Vault

/// Mount points that Coffre made because they were missing: a lock takes them away again.
///
/// Each is marked by an empty file in the user's state folder, which is named after the device and
/// inode: so another folder at the same path is not taken for it, and no path is kept.
enum MadeMountPoint {
  private static func mark(_ status: FileStatus) -> String? {
    AnchorFolder.path.map { folder in
      "\(folder)/mountpoint-\(String(status.device, radix: 16))-\(String(status.inode, radix: 16))"
    }
  }

  /// Makes a folder for its owner alone; false if something is there already.
  static func make(_ path: String) throws(Failure) -> Bool {
    if (try? System.linkStatus(at: path)) != nil { return false }
    do throws(Errno) {
      try System.makeDirectory(path, mode: 0o700)
    } catch {
      if error == .exists { return false }
      throw Failure(
        .badMountPoint, "the mount point \(path) can't be made: \(error.description.lowercased())")
    }
    // Without its mark it stays, which harms nobody.
    if let status = try? System.linkStatus(at: path), let mark = mark(status) {
      _ = try? System.open(mark, [.writeOnly, .create, .exclusive, .noFollow])
    }
    return true
  }

  /// Takes away a folder that `make` has made, if it is empty and nothing is mounted there.
  static func remove(_ path: String) {
    guard let folder = try? System.open(path, [.directory, .noFollow, .nonBlocking]),
      let status = try? System.status(of: folder), status.user == System.userNumber,
      let mark = mark(status), (try? System.linkStatus(at: mark)) != nil,
      let names = try? System.names(in: folder), names.isEmpty
    else { return }
    let isImmutable = System.isImmutable(folder)
    if isImmutable { try? System.setImmutable(folder, false) }
    do throws(Errno) {
      try System.removeDirectory(path)
      try System.remove(mark)
    } catch {
      // Something came into it or over it.
      if isImmutable { try? System.setImmutable(folder, true) }
    }
  }
}
