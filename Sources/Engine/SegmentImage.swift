import Bytes
import Disk
import Format
import POSIX

/// What could be read of one journal segment. Bytes that could not be read are zeros here, which
/// authenticate as nothing.
struct SegmentImage {
  let bytes: Buffer
  private(set) var isMissing = false
  private(set) var isShort = false
  /// Why something could not be read, and what.
  private(set) var errno: Errno?
  private(set) var unreadable: [Range<Int>] = []
  private var failures = 0

  private static let piece = 1 << 20
  /// A disk that fails takes seconds for each attempt: after so many sectors the rest is given up.
  private static let mostFailures = 16

  /// Reads a segment of `size` bytes. Throws for what says nothing of the segment, such as a lack
  /// of memory or of permission.
  init(_ number: UInt64, of size: Int, on disk: any Disk) throws(EngineError) {
    bytes = Buffer(count: size)
    do throws(DiskError) {
      let file = try disk.open(SegmentCodec.fileName(number), writable: false)
      let stored = Int(clamping: try file.size())
      isShort = stored < size
      var start = 0
      while start < min(size, stored) {
        let end = min(start + Self.piece, size, stored)
        try fill(start..<end, from: file)
        start = end
      }
    } catch {
      switch error.errno {
      // The last four: something else has its name.
      case .noSuchFile, .loop, .isDirectory, .invalid, .noAddress: isMissing = true
      // And here the whole folder is none.
      case .accessDenied, .notPermitted, .notDirectory: throw .disk(error)
      default:
        if error.isTransient { throw .disk(error) }
        errno = error.errno
        unreadable = [0..<size]
      }
    }
  }

  /// Reads in ever smaller pieces where reading fails, so that a bad sector hides nothing but
  /// itself.
  private mutating func fill(_ range: Range<Int>, from file: any DiskFile) throws(DiskError) {
    guard failures < Self.mostFailures else { return unreadable.append(range) }
    do throws(DiskError) {
      var span = bytes.mutableBytes(in: range)
      let count = try file.read(into: &span, at: UInt64(range.lowerBound))
      if count < range.count { isShort = true }
    } catch {
      if error.isTransient { throw error }
      errno = errno ?? error.errno
      guard range.count > Layout.frameAlignment else {
        failures += 1
        // What a failed read leaves there is unknown.
        bytes.zero(range)
        return unreadable.append(range)
      }
      let half = (range.count / 2 + Layout.frameAlignment - 1) / Layout.frameAlignment
      let middle = range.lowerBound + half * Layout.frameAlignment
      try fill(range.lowerBound..<middle, from: file)
      try fill(middle..<range.upperBound, from: file)
    }
  }

  /// Why the segment may hold more than what was found before `offset`; nil if it was all seen.
  func doubt(from offset: Int) -> JournalGap.Cause? {
    if isMissing { return .missing }
    if let errno, unreadable.contains(where: { $0.upperBound > offset }) {
      return .unreadable(errno)
    }
    return isShort ? .short : nil
  }
}
