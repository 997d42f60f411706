import POSIX

/// A process that keeps something of a mount: a file or folder that is open, the folder it stands
/// in, its root, a mapping. Not somebody who only watches (inotify(7)): that keeps nothing.
package struct Holder: Hashable, Sendable {
  package enum Use: String, CaseIterable, Hashable, Sendable {
    case open
    case folder = "working-folder"
    case root
    case mapping

    fileprivate var words: String {
      switch self {
      case .open: "open"
      case .folder: "working folder"
      case .root: "root"
      case .mapping: "mapped"
      }
    }
  }

  package struct Thing: Hashable, Sendable {
    let use: Use
    /// As the kernel tells it.
    let path: [UInt8]
  }

  package let process: Int32
  package let command: String
  package fileprivate(set) var things: [Thing] = []

  package var name: String { "process \(process) (\(command))" }

  /// Each kind of use once.
  package var uses: [Use] { Use.allCases.filter { use in things.contains { $0.use == use } } }

  /// One line. Paths are names of the vault: only for its owner's own eyes.
  package func line(withPaths: Bool) -> String {
    guard withPaths else { return "\(name): \(uses.map(\.words).joined(separator: ", "))" }
    let shown = things.prefix(Self.mostPaths).map { thing in
      "\(thing.use.words) \(VerifyReport.Item.shown(thing.path))"
    }
    let rest = things.count - shown.count
    return "\(name): \(shown.joined(separator: ", "))" + (rest > 0 ? ", and \(rest) more" : "")
  }

  private static let mostPaths = 4
}

/// Looking for them, in /proc. Only root sees the processes of others.
///
/// Nothing is asked of the mount's own process, which may hang: the kernel knows the device of what
/// is open. It is a look at one moment; who comes later is not seen.
extension Holder {
  /// The holders of some mounts, by device. Neither this process nor those of the mounts are any.
  package static func find(of mounts: [MountStatus]) -> [String: [Holder]] {
    find(of: Set(mounts.map(\.device)), but: Set(mounts.map(\.process)))
  }

  static func find(of devices: Set<String>, but own: Set<Int32> = []) -> [String: [Holder]] {
    guard !devices.isEmpty, let proc = try? System.open("/proc", [.directory]),
      let names = try? System.names(in: proc)
    else { return [:] }
    var found: [String: [Holder]] = [:]
    let others = names.compactMap { Int32($0) }.filter {
      $0 != System.processNumber && !own.contains($0)
    }
    for process in others.sorted() {
      for (device, things) in things(of: process, on: devices) {
        let holder = Holder(process: process, command: command(of: process), things: things)
        found[device, default: []].append(holder)
      }
    }
    return found
  }

  private static func command(of process: Int32) -> String {
    let bytes = (try? System.readFile("/proc/\(process)/comm", limit: 64)) ?? []
    return String(decoding: bytes.prefix { $0 != 0x0a }, as: UTF8.self)
  }

  /// What a process keeps, by device; each thing once.
  private static func things(of process: Int32, on devices: Set<String>) -> [String: [Thing]] {
    let folder = "/proc/\(process)"
    var things: [String: [Thing]] = [:]
    var known: [String: Set<Thing>] = [:]
    func add(_ thing: Thing, _ device: String) {
      guard known[device, default: []].insert(thing).inserted else { return }
      things[device, default: []].append(thing)
    }
    func look(_ link: String, _ use: Use) {
      guard let device = System.device(ofOpen: link), devices.contains(device) else { return }
      add(Thing(use: use, path: (try? System.readLink(link)) ?? []), device)
    }
    look(folder + "/cwd", .folder)
    look(folder + "/root", .root)
    if let descriptors = try? System.open(folder + "/fd", [.directory]),
      let numbers = try? System.names(in: descriptors)
    {
      for number in numbers { look(folder + "/fd/" + number, .open) }
    }
    for mapping in mappings(of: folder) where devices.contains(mapping.device) {
      add(Thing(use: .mapping, path: mapping.path), mapping.device)
    }
    return things
  }

  private static func mappings(of folder: String) -> [(device: String, path: [UInt8])] {
    guard let bytes = try? System.readFile(folder + "/maps", limit: 16 << 20) else { return [] }
    return bytes.split(separator: 0x0a).compactMap { mapping(Array($0)) }
  }

  /// `address perms offset dev inode path`, proc_pid_maps(5); nil for memory that is of no file.
  static func mapping(_ line: [UInt8]) -> (device: String, path: [UInt8])? {
    let words = line.split(separator: 0x20, maxSplits: 5)
    guard words.count == 6 else { return nil }
    let numbers = words[3].split(separator: UInt8(ascii: ":")).compactMap {
      UInt32(String(decoding: $0, as: UTF8.self), radix: 16)
    }
    guard numbers.count == 2, numbers != [0, 0] else { return nil }
    return ("\(numbers[0]):\(numbers[1])", Array(words[5].drop { $0 == 0x20 }))
  }
}
