import Glibc

/// An error number of the system, errno(3).
package struct Errno: RawRepresentable, Error, Hashable, Sendable {
  package let rawValue: Int32

  package init(rawValue: Int32) { self.rawValue = rawValue }

  /// The number the last failed call of this thread left behind.
  package static var current: Errno { Errno(rawValue: errno) }

  package static let notPermitted = Errno(rawValue: EPERM)
  package static let noSuchFile = Errno(rawValue: ENOENT)
  package static let interrupted = Errno(rawValue: EINTR)
  package static let ioError = Errno(rawValue: EIO)
  package static let badDescriptor = Errno(rawValue: EBADF)
  package static let tryAgain = Errno(rawValue: EAGAIN)
  package static let noMemory = Errno(rawValue: ENOMEM)
  package static let accessDenied = Errno(rawValue: EACCES)
  package static let busy = Errno(rawValue: EBUSY)
  package static let exists = Errno(rawValue: EEXIST)
  package static let crossDevice = Errno(rawValue: EXDEV)
  package static let notDirectory = Errno(rawValue: ENOTDIR)
  package static let isDirectory = Errno(rawValue: EISDIR)
  package static let invalid = Errno(rawValue: EINVAL)
  package static let tooManyOpenFiles = Errno(rawValue: EMFILE)
  package static let fileTooLarge = Errno(rawValue: EFBIG)
  package static let noSpace = Errno(rawValue: ENOSPC)
  package static let readOnly = Errno(rawValue: EROFS)
  package static let tooManyLinks = Errno(rawValue: EMLINK)
  package static let brokenPipe = Errno(rawValue: EPIPE)
  package static let range = Errno(rawValue: ERANGE)
  package static let nameTooLong = Errno(rawValue: ENAMETOOLONG)
  package static let notImplemented = Errno(rawValue: ENOSYS)
  package static let notEmpty = Errno(rawValue: ENOTEMPTY)
  package static let loop = Errno(rawValue: ELOOP)
  package static let noData = Errno(rawValue: ENODATA)
  package static let overflow = Errno(rawValue: EOVERFLOW)
  package static let notSupported = Errno(rawValue: EOPNOTSUPP)
  package static let noAddress = Errno(rawValue: ENXIO)
  package static let stale = Errno(rawValue: ESTALE)
  package static let overQuota = Errno(rawValue: EDQUOT)
  package static let illegalSequence = Errno(rawValue: EILSEQ)
  package static let tooBig = Errno(rawValue: E2BIG)

  /// Whether the filesystem, or the user's share of it, is full.
  package var isFull: Bool { self == .noSpace || self == .overQuota }

  /// The system's own sentence for the number, strerror(3).
  package var description: String {
    var buffer = [CChar](repeating: 0, count: 128)
    guard unsafe strerror_r(rawValue, &buffer, buffer.count) == 0 else {
      return "error \(rawValue)"
    }
    return String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }
}
