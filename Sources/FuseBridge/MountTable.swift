internal import POSIX

/// What is mounted where this process sees it, as /proc/self/mountinfo tells it.
package enum MountTable {
  package struct Entry: Hashable, Sendable {
    /// The mount's number.
    package let mount: UInt64
    /// The filesystem's device, `major:minor`: the same for all mounts of one filesystem, and no
    /// other has it as long as one of them is there.
    package let device: String
    package let mountPoint: String
    package let type: String
  }

  package static func entries() -> [Entry] {
    guard let bytes = try? System.readFile("/proc/self/mountinfo", limit: 16 << 20) else {
      return []
    }
    return bytes.split(separator: UInt8(ascii: "\n")).compactMap { entry(Array($0)) }
  }

  /// `36 35 98:0 /root /mount/point options ... - type source options`, proc(5).
  static func entry(_ line: [UInt8]) -> Entry? {
    let words = line.split(separator: UInt8(ascii: " "))
    guard words.count > 6, let dash = words.dropFirst(6).firstIndex(of: [UInt8(ascii: "-")]),
      dash + 1 < words.endIndex, let mount = UInt64(String(decoding: words[0], as: UTF8.self))
    else { return nil }
    return Entry(
      mount: mount, device: String(decoding: words[2], as: UTF8.self),
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

  /// The mount that is seen at a mount point: of several on top of each other, the uppermost, which
  /// is the one an unmount takes. Nothing is asked of the filesystem, which may be dead.
  package static func uppermost(at path: String) -> Entry? {
    guard let place = try? System.open(path, [.path, .noFollow]),
      let mount = number(of: place)
    else { return nil }
    return entries().first { $0.mount == mount && $0.mountPoint == path }
  }

  /// The mount a descriptor is on: the line `mnt_id:` of proc_pid_fdinfo(5).
  private static func number(of place: borrowing Descriptor) -> UInt64? {
    guard let bytes = try? System.readFile("/proc/self/fdinfo/\(place.rawValue)", limit: 4096)
    else { return nil }
    let line = bytes.split(separator: UInt8(ascii: "\n")).first { $0.starts(with: "mnt_id:".utf8) }
    return line.flatMap { line in
      UInt64(String(decoding: line.filter { (0x30...0x39).contains($0) }, as: UTF8.self))
    }
  }

  /// The newest mount of Coffre right at a mount point.
  static func own(at path: String) -> Entry? {
    entries().last { $0.mountPoint.hasSameBytes(as: path) && $0.type == "fuse.coffre" }
  }

  /// All mounts of one filesystem, the newest first.
  static func mounts(of device: String) -> [Entry] {
    entries().filter { $0.device == device }.reversed()
  }

  /// Those of them that are seen at their mount points, with nothing over them.
  static func visibleMounts(of device: String) -> [Entry] {
    mounts(of: device).filter { uppermost(at: $0.mountPoint)?.mount == $0.mount }
  }
}
