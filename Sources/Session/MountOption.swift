import POSIX

/// An option of `-o`, as mount(8) and fuse(8) name them.
///
/// Each is known by name, for libfuse does not tell which one it refuses.
enum MountOption {
  /// For the kernel or libfuse.
  case passed
  /// For Coffre itself.
  case ours
  /// Says what is so anyway, or is for mount(8) and systemd alone.
  case idle
  /// Can't be had, and why.
  case refused(String)
  case unknown

  init(_ option: String) {
    let name = option.parts(between: "=").first ?? option
    if let found = Self.named[name], found.takesValue == option.unicodeScalars.contains("=") {
      self = found.option
    } else if name.hasPrefix("x-") || name.hasPrefix("X-") {
      self = .idle
    } else {
      self = .unknown
    }
  }

  private struct Entry {
    let option: MountOption
    let takesValue: Bool
  }

  private static let named: [String: Entry] = {
    var table: [String: Entry] = [:]
    func add(_ option: MountOption, value: Bool = false, _ names: String) {
      for name in names.split(separator: " ") {
        table[String(name)] = Entry(option: option, takesValue: value)
      }
    }
    add(.passed, "ro rw dev nodev suid nosuid exec noexec sync allow_other allow_root")
    add(.passed, "noatime auto_unmount default_permissions")
    add(.passed, value: true, "fsname max_read")
    add(.passed, value: true, "context fscontext defcontext rootcontext")
    add(.ours, "guard noguard backupmarker nobackupmarker")
    // A vault keeps no time of a reading, and times are never late.
    add(.idle, "atime diratime nodiratime relatime norelatime nostrictatime")
    add(.idle, "lazytime nolazytime defaults async silent loud")
    add(.idle, "auto noauto user nouser users owner noowner group nogroup nofail _netdev")
    add(.idle, value: true, "comment uhelper helper")
    add(.refused("by its type the mount is found again"), value: true, "subtype")
    add(.refused("names are durable after fsync(2) only, sync(1) or a lock"), "dirsync")
    add(.refused("a vault keeps no time of a reading"), "strictatime")
    add(.refused("lock the vault and mount it anew"), "remount")
    add(.refused("mount the vault, then use mount(8)"), "bind rbind move")
    return table
  }()
}

extension MountSettings {
  /// Takes what `-o` gave. Of two options that contradict each other the last one counts, as for
  /// mount(8).
  package mutating func take(_ options: [String]) throws(Failure) {
    for option in options {
      switch MountOption(option) {
      case .passed: pass(option)
      case .ours: takeOurs(option)
      case .idle: break
      case .refused(let why): throw Failure(.usage, "the option \(option) can't be had", hint: why)
      case .unknown: throw Failure(.usage, "no option \(option) for -o")
      }
    }
  }

  private mutating func takeOurs(_ option: String) {
    switch option {
    case "guard", "noguard": isGuarded = option == "guard"
    default: isMarked = option == "backupmarker"
    }
  }

  private mutating func pass(_ option: String) {
    switch option {
    case "ro": readOnly = true
    case "rw": readOnly = false
    case "allow_other": allowOther = true
    case "nodev", "nosuid":
      // So it is anyway.
      extra.removeAll { $0 == option.dropFirst(2) }
    default: extra.append(option)
    }
  }
}
