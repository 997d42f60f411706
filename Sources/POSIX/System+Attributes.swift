import CSystem
import Glibc

/// What else is kept of a file: holes, and extended attributes, xattr(7).
extension System {
  /// The next bytes of a file that are no hole, at or after an offset; nil if there are none.
  /// Where the filesystem tells of no holes it is all that is left.
  package static func data(
    of file: borrowing Descriptor, from offset: UInt64
  ) throws(Errno) -> Range<UInt64>? {
    let number = file.rawValue
    let (seekData, seekHole): (Int32, Int32) = (3, 4)
    guard let position = Int(exactly: offset) else { throw .overflow }
    let start: Int
    do throws(Errno) { start = try check { lseek(number, position, seekData) } } catch {
      if error == .noAddress { return nil }
      guard error == .invalid else { throw error }
      let size = try status(of: file).size
      return offset < size ? offset..<size : nil
    }
    let end = try check { lseek(number, start, seekHole) }
    return start < end ? UInt64(start)..<UInt64(end) : nil
  }

  /// The names of the extended attributes of a file, flistxattr(2); none where the filesystem has
  /// no such thing.
  package static func attributeNames(of file: borrowing Descriptor) throws(Errno) -> [[UInt8]] {
    let number = file.rawValue
    var bytes = [CChar](repeating: 0, count: 65536)
    let limit = bytes.count
    do throws(Errno) {
      let count = try check { unsafe flistxattr(number, &bytes, limit) }
      return bytes[..<count].split(separator: 0).map { $0.map { UInt8(bitPattern: $0) } }
    } catch {
      guard error == .notSupported else { throw error }
      return []
    }
  }

  /// fgetxattr(2); ENODATA if there is none of that name, ERANGE if it has more bytes than `limit`.
  package static func attribute(
    _ name: [UInt8], of file: borrowing Descriptor, limit: Int = 65536
  ) throws(Errno) -> [UInt8] {
    let number = file.rawValue
    let text = try text(name)
    var bytes = [UInt8](repeating: 0, count: limit)
    let count = try check { unsafe fgetxattr(number, text, &bytes, limit) }
    return Array(bytes[..<count])
  }

  /// fsetxattr(2).
  package static func setAttribute(
    _ name: [UInt8], to value: [UInt8], of file: borrowing Descriptor
  ) throws(Errno) {
    let number = file.rawValue
    let text = try text(name)
    _ = try check { Int(unsafe fsetxattr(number, text, value, value.count, 0)) }
  }
}
