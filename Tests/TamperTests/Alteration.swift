import Bytes
import Glibc
import POSIX
import TestKit

/// One thing done to the files of a store by somebody else. It can be undone.
struct Alteration: Sendable {
  let name: String
  /// The objects it touches, which `undo` puts back.
  let objects: [String]
  private let body: @Sendable (_ store: String) throws -> Void

  init(_ name: String, _ objects: [String], _ body: @escaping @Sendable (String) throws -> Void) {
    self.name = name
    self.objects = objects
    self.body = body
  }

  /// Does it to the files themselves, for a store that is thrown away.
  func apply(to store: String) throws { try body(store) }

  /// Does it, calls `check`, and puts everything back.
  func with<R>(_ store: String, _ check: () throws -> R) throws -> R {
    // Named by the objects, as one alteration may be done within another.
    func aside(_ object: String) -> String {
      store + ".aside." + String(object.map { $0 == "/" ? "-" : $0 })
    }
    for object in objects {
      // The original stays whole: what is altered is a copy.
      let path = store + "/" + object
      guard (try? System.linkStatus(at: path)) != nil else { continue }
      try move(path, to: aside(object))
      if try System.linkStatus(at: aside(object)).isDirectory {
        try copyFolder(aside(object), to: path)
      } else {
        try copyFile(aside(object), to: path)
      }
    }
    defer {
      for object in objects {
        removeAll(store + "/" + object)
        try? move(aside(object), to: store + "/" + object)
      }
    }
    try body(store)
    return try check()
  }

  /// Bytes written over bytes, which are put back in place: nothing is copied.
  static func patch<R>(
    _ store: String, _ patches: [(object: String, offset: Int, bytes: [UInt8])],
    _ check: () throws -> R
  ) throws -> R {
    var before: [(path: String, offset: Int, bytes: [UInt8])] = []
    defer {
      for old in before.reversed() { try? writeBytes(old.path, old.bytes, at: old.offset) }
    }
    for patch in patches {
      let path = store + "/" + patch.object
      let range = patch.offset..<(patch.offset + patch.bytes.count)
      before.append((path, patch.offset, try readBytes(path, range)))
      try writeBytes(path, patch.bytes, at: patch.offset)
    }
    return try check()
  }
}

func move(_ path: String, to newPath: String) throws(Errno) {
  guard unsafe rename(path, newPath) == 0 else { throw .current }
}

/// Removes a file, link or whole folder; nothing if it is not there.
func removeAll(_ path: String) {
  guard unsafe unlink(path) != 0 else { return }
  for name in namesInFolder(path) { removeAll(path + "/" + name) }
  unsafe rmdir(path)
}

/// What may be put in the place of a file or folder.
enum Stand: String, CaseIterable, Sendable {
  case symbolicLink, brokenLink, loop, fifo, folder, socket, device, secondName

  /// Devices are for root.
  static var possible: [Stand] { allCases.filter { $0 != .device || System.userNumber == 0 } }

  /// Puts it there; `elsewhere` is what links lead to, a whole copy of the original.
  func put(at path: String, elsewhere: String) throws(Errno) {
    if self == .secondName {
      return try check(unsafe Glibc.link(path, elsewhere + ".second"))
    }
    removeAll(path)
    switch self {
    case .symbolicLink: try check(unsafe symlink(elsewhere, path))
    case .brokenLink: try check(unsafe symlink(elsewhere + "/nowhere", path))
    case .loop: try check(unsafe symlink(path, path))
    case .fifo: try check(unsafe mkfifo(path, 0o600))
    case .folder: try System.makeDirectory(path, mode: 0o700)
    case .socket: try check(unsafe mknod(path, S_IFSOCK | 0o600, 0))
    // The null device: to open it is harmless.
    case .device: try check(unsafe mknod(path, S_IFCHR | 0o600, 0x103))
    case .secondName: break
    }
  }

  private func check(_ result: Int32) throws(Errno) {
    guard result == 0 else { throw .current }
  }
}
