import Crypto
import POSIX

/// What a person should know of the machine before working in a vault.
enum Warnings {
  static var now: [String] {
    var warnings: [String] = []
    if let swap = SwapAreas().warning { warnings.append(swap) }
    if !SecretMemory.shared.withLock({ $0.isFullyLocked }) {
      warnings.append("not all memory with keys could be locked; see `ulimit -l`")
    }
    return warnings
  }
}

/// Where the kernel puts memory away, and whether that is readable without a key.
///
/// An area may be a device, or a file on one; a device may be made of others, as a logical volume
/// of an encrypted partition is: it is closed if it, or all it is made of, is.
struct SwapAreas {
  /// For tests: other places than the kernel's.
  var list = "/proc/swaps"
  var system = "/sys"

  enum Kind: Hashable {
    /// Encrypted, or memory itself.
    case closed
    case open
    case unknown
  }

  var warning: String? {
    let kinds = areas.map(kind(of:))
    let rest = "contents of open files may reach the disk"
    if kinds.contains(.open) { return "swap is on and not encrypted; \(rest)" }
    return kinds.contains(.unknown) ? "swap is on and may not be encrypted; \(rest)" : nil
  }

  private var areas: [String] {
    guard let bytes = try? System.readFile(list, limit: 1 << 16) else { return [] }
    return bytes.split(separator: UInt8(ascii: "\n")).dropFirst().map { line in
      String(decoding: line.prefix { $0 != UInt8(ascii: " ") && $0 != 9 }, as: UTF8.self)
    }
  }

  private func kind(of area: String) -> Kind {
    guard let real = try? System.realPath(area), let status = try? System.status(at: real) else {
      return .unknown
    }
    if real.utf8.starts(with: "/dev/".utf8) { return kind(ofDevice: real.pathParts.name) }
    guard let device = name(of: status.device) else { return .unknown }
    return kind(ofDevice: device)
  }

  /// The name of the device a file is on; nil for a filesystem of several, or of none.
  func name(of device: UInt64) -> String? {
    let major = (device >> 8) & 0xfff | (device >> 32) & ~0xfff
    let minor = device & 0xff | (device >> 12) & 0xffff_ff00
    return (try? System.realPath("\(system)/dev/block/\(major):\(minor)"))?.pathParts.name
  }

  func kind(ofDevice name: String, depth: Int = 0) -> Kind {
    if name.hasPrefix("zram") { return .closed }
    let folder = "\(system)/class/block/\(name)"
    if let uuid = try? System.readFile(folder + "/dm/uuid", limit: 256),
      uuid.starts(with: "CRYPT-".utf8)
    {
      return .closed
    }
    // A loop's file may be on something encrypted.
    if name.hasPrefix("loop") { return .unknown }
    guard depth < 16,
      let parts = try? System.names(in: System.open(folder + "/slaves", [.directory]))
    else {
      // A partition has no such folder; a device that is not there at all says nothing.
      return (try? System.linkStatus(at: folder)) == nil ? .unknown : .open
    }
    if parts.isEmpty { return .open }
    let kinds = parts.map { kind(ofDevice: $0, depth: depth + 1) }
    return kinds.contains(.open) ? .open : kinds.contains(.unknown) ? .unknown : .closed
  }
}
