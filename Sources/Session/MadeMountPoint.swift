import POSIX
import Vault

/// Mount points that Coffre made because they were missing: a lock takes them away again.
///
/// Each is marked by an empty file in the user's state folder, which is named after the device, the
/// inode and the time the folder was made: so another folder at the same path is not taken for it,
/// nor one that was given the same inode later, and no path is kept. Where a filesystem keeps no
/// such time there is no mark, and the folder stays.
enum MadeMountPoint {
  private static func mark(_ folder: borrowing Descriptor) -> String? {
    guard let status = try? System.status(of: folder), status.user == System.userNumber,
      let birth = System.birth(of: folder), let place = AnchorFolder.path
    else { return nil }
    let numbers = [status.device, status.inode, birth].map { String($0, radix: 16) }
    return "\(place)/mountpoint-\(numbers.joined(separator: "-"))"
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
    if let folder = try? System.open(path, [.directory, .noFollow, .nonBlocking]),
      let mark = mark(folder)
    {
      _ = try? System.open(mark, [.writeOnly, .create, .exclusive, .noFollow])
    }
    return true
  }

  /// Takes away a folder that `make` has made, if it is empty and nothing is mounted there.
  static func remove(_ path: String) {
    guard let folder = try? System.open(path, [.directory, .noFollow, .nonBlocking]),
      let mark = mark(folder), (try? System.linkStatus(at: mark)) != nil,
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
