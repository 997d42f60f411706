package import POSIX
package import Volume

/// One change of a tree, done to a volume and to the model alike; its text lets it be done by hand.
package enum Operation: Sendable, Hashable {
  case create(Path)
  case makeDirectory(Path)
  /// `count` bytes that `fill` seeds.
  case write(Path, at: Int, count: Int, fill: UInt64)
  case truncate(Path, to: Int)
  case punch(Path, Range<Int>)
  case unlink(Path)
  case removeDirectory(Path)
  case rename(Path, to: Path, RenameMode)
  case link(Path, as: Path)
  case symlink(Path, target: [UInt8])
  case setAttribute(Path, [UInt8], count: Int, fill: UInt64)
  case removeAttribute(Path, [UInt8])
  case makeFIFO(Path)
  case setMode(Path, UInt32)
  /// utimensat(2), in seconds since 1970.
  case setTimes(Path, Int64)
  /// fallocate(2): the size grows, nothing else is seen.
  case allocate(Path, Range<Int>)
  /// The same, and the range reads as zeros.
  case zero(Path, Range<Int>)
  /// Changes nothing; ENOENT and ENOTDIR as for any path.
  case sync(Path)

  package static func bytes(_ count: Int, fill: UInt64) -> [UInt8] {
    // Some writes are zeros: they may not be told from holes.
    if fill % 16 == 0 { return [UInt8](repeating: 0, count: count) }
    var random = SplitMix64(seed: fill)
    return random.bytes(count)
  }

  package var isSync: Bool {
    if case .sync = self { true } else { false }
  }

  package var isOfAttributes: Bool {
    switch self {
    case .setAttribute, .removeAttribute: true
    default: false
    }
  }
}

extension ModelVolume {
  /// Does an operation; nil if it went well, else the error number, with nothing changed.
  @discardableResult
  package mutating func apply(_ operation: Operation) -> Errno? {
    do throws(Errno) {
      switch operation {
      case .create(let path): try create(path)
      case .makeDirectory(let path): try makeDirectory(path)
      case .write(let path, let offset, let count, let fill):
        try write(path, at: offset, Operation.bytes(count, fill: fill))
      case .truncate(let path, let size): try truncate(path, to: size)
      case .punch(let path, let range): try punch(path, range)
      case .unlink(let path): try unlink(path)
      case .removeDirectory(let path): try removeDirectory(path)
      case .rename(let path, let newPath, let mode): try rename(path, to: newPath, mode)
      case .link(let path, let newPath): try link(path, as: newPath)
      case .symlink(let path, let target): try symlink(path, target: target)
      case .setAttribute(let path, let name, let count, let fill):
        try setAttribute(path, name, to: Operation.bytes(count, fill: fill))
      case .removeAttribute(let path, let name): try removeAttribute(path, name)
      case .makeFIFO(let path): try makeFIFO(path)
      case .setMode(let path, let mode): try setMode(path, mode)
      case .setTimes(let path, let time): try setTimes(path, time)
      case .allocate(let path, let range): try allocate(path, range)
      case .zero(let path, let range):
        try punch(path, range)
        try allocate(path, range)
      case .sync(let path): _ = try find(path)
      }
      return nil
    } catch { return error }
  }
}

extension Operation: CustomStringConvertible {
  package var description: String {
    func text(_ path: Path) -> String { Listing.text(path) }
    return switch self {
    case .create(let path): "create \(text(path))"
    case .makeDirectory(let path): "mkdir \(text(path))"
    case .write(let path, let offset, let count, let fill):
      "write \(text(path)) at \(offset) count \(count) fill \(fill)"
    case .truncate(let path, let size): "truncate \(text(path)) to \(size)"
    case .punch(let path, let range): "punch \(text(path)) \(range)"
    case .unlink(let path): "unlink \(text(path))"
    case .removeDirectory(let path): "rmdir \(text(path))"
    case .rename(let path, let newPath, let mode):
      "rename \(text(path)) to \(text(newPath)) \(mode)"
    case .link(let path, let newPath): "link \(text(path)) as \(text(newPath))"
    case .symlink(let path, let target): "symlink \(text(path)) target of \(target.count)"
    case .setAttribute(let path, let name, let count, let fill):
      "setxattr \(text(path)) \(String(decoding: name, as: UTF8.self)) count \(count) fill \(fill)"
    case .removeAttribute(let path, let name):
      "removexattr \(text(path)) \(String(decoding: name, as: UTF8.self))"
    case .makeFIFO(let path): "mkfifo \(text(path))"
    case .setMode(let path, let mode): "chmod \(text(path)) \(String(mode, radix: 8))"
    case .setTimes(let path, let time): "utimens \(text(path)) \(time)"
    case .allocate(let path, let range): "allocate \(text(path)) \(range)"
    case .zero(let path, let range): "zero \(text(path)) \(range)"
    case .sync(let path): "sync \(text(path))"
    }
  }
}
