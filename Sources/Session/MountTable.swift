import POSIX

/// What is mounted, as /proc/self/mountinfo tells it.
enum MountTable {
  struct Entry: Hashable, Sendable {
    let mountPoint: String
    let type: String
  }

  static func entries() -> [Entry] {
    guard let bytes = try? System.readFile("/proc/self/mountinfo", limit: 16 << 20) else {
      return []
    }
    return bytes.split(separator: UInt8(ascii: "\n")).compactMap { entry(Array($0)) }
  }

  /// `36 35 98:0 /root /mount/point options ... - type source options`, proc(5).
  static func entry(_ line: [UInt8]) -> Entry? {
    let words = line.split(separator: UInt8(ascii: " "))
    guard words.count > 6, let dash = words.dropFirst(6).firstIndex(of: [UInt8(ascii: "-")]),
      dash + 1 < words.endIndex
    else { return nil }
    return Entry(
      mountPoint: unescape(Array(words[4])), type: String(decoding: words[dash + 1], as: UTF8.self))
  }

  /// Space, tab, newline and backslash stand as three octal digits.
  private static func unescape(_ bytes: [UInt8]) -> String {
    var result: [UInt8] = []
    var index = 0
    while index < bytes.count {
      if bytes[index] == UInt8(ascii: "\\"), index + 3 < bytes.count,
        let byte = UInt8(
          String(decoding: bytes[(index + 1)...(index + 3)], as: UTF8.self), radix: 8)
      {
        result.append(byte)
        index += 4
      } else {
        result.append(bytes[index])
        index += 1
      }
    }
    return String(decoding: result, as: UTF8.self)
  }

  /// Whether Coffre has a mount right there.
  static func hasOurs(at path: String) -> Bool {
    entries().last { $0.mountPoint == path }?.type == "fuse.coffre"
  }

  static func isMountPoint(_ path: String) -> Bool { entries().contains { $0.mountPoint == path } }

  /// Whether a mount of ours is there whose process is gone: nothing can be asked of it any more.
  static func isStale(at path: String) -> Bool {
    guard hasOurs(at: path) else { return false }
    do throws(Errno) {
      // Attributes may be cached; an open is always asked for.
      _ = try System.open(path, [.directory, .nonBlocking])
      return false
    } catch { return error == .notConnected }
  }

  /// Takes a stale mount away; false if there is none or it can't be.
  @discardableResult
  static func detachStale(at path: String) -> Bool {
    guard isStale(at: path) else { return false }
    do throws(Errno) {
      try System.detachMount(path)
      return true
    } catch {
      // Unmounting is for root; fusermount3 does it for the one who mounted.
      return fusermount(path)
    }
  }

  private static func fusermount(_ path: String) -> Bool {
    for tool in ["/usr/bin/fusermount3", "/bin/fusermount3", "/usr/local/bin/fusermount3"] {
      guard
        let process = try? System.spawn(
          tool, ["fusermount3", "-u", "-z", "-q", "--", path], descriptors: [.null, .null, .null],
          detached: false)
      else { continue }
      return (try? System.wait(for: process)) == .exited(0)
    }
    return false
  }
}
