import CSystem
import Glibc

/// What a file or folder is marked with beside its mode: extended attributes, xattr(7), and flags,
/// ioctl_iflags(2). Not every filesystem has them.
extension System {
  /// fgetxattr(2), at most 256 bytes; nil if it is not there.
  package static func attribute(
    _ name: String, of file: borrowing Descriptor
  ) throws(Errno) -> [UInt8]? {
    do throws(Errno) {
      return try attribute(Array(name.utf8), of: file, limit: 256)
    } catch {
      guard error == .noData else { throw error }
      return nil
    }
  }

  /// fsetxattr(2).
  package static func setAttribute(
    _ name: String, to value: [UInt8], of file: borrowing Descriptor
  ) throws(Errno) {
    try setAttribute(Array(name.utf8), to: value, of: file)
  }

  /// fremovexattr(2); no error if it is not there.
  package static func removeAttribute(
    _ name: String, of file: borrowing Descriptor
  ) throws(Errno) {
    let number = file.rawValue
    do throws(Errno) { _ = try check { Int(unsafe fremovexattr(number, name)) } } catch {
      guard error == .noData else { throw error }
    }
  }

  /// Whether dump(8) and the like pass it by: `chattr +d`.
  package static func isUndumped(_ file: borrowing Descriptor) -> Bool {
    coffre_is_undumped(file.rawValue) != 0
  }

  package static func setUndumped(
    _ file: borrowing Descriptor, _ isUndumped: Bool
  ) throws(Errno) {
    let number = file.rawValue
    _ = try check { Int(coffre_set_undumped(number, isUndumped ? 1 : 0)) }
  }
}

extension Errno {
  /// Whether a mark can't be had: the filesystem has none, or only the owner may set it.
  package var isNoMark: Bool {
    [.notSupported, .notTerminal, .notImplemented, .invalid, .notPermitted].contains(self)
  }

  /// What ioctl(2) says where a filesystem has no flags.
  package static let notTerminal = Errno(rawValue: ENOTTY)
}
