import Foundation
import POSIX
import Testing

/// The command under test: `COFFRE`, or the release build beside this checkout.
enum Command {
  static let path: String? = {
    let path = wanted ?? root + "/.build/release/coffre"
    return FileManager.default.isExecutableFile(atPath: path) ? path : nil
  }()

  /// What whoever runs the tests says is to be tested.
  static let wanted = ProcessInfo.processInfo.environment["COFFRE"]

  static let root = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().path

  static let checks = root + "/Tests/MountTests/Checks"

  static var canMount: Bool {
    path != nil && FileManager.default.fileExists(atPath: "/dev/fuse")
      && has("fusermount3")
  }

  static var isRoot: Bool { System.userNumber == 0 }

  /// Whether a tool is on this machine; tests that need one it lacks are skipped by name.
  static func has(_ tool: String) -> Bool {
    ["/usr/bin/", "/bin/", "/usr/local/bin/", "/usr/sbin/"].contains {
      FileManager.default.isExecutableFile(atPath: $0 + tool)
    }
  }
}

/// What a sanitizer finds in a daemon goes where that may still write, and from there to the folder
/// that `scripts/sanitize` looks into.
enum SanitizerReports {
  private static let kept = ProcessInfo.processInfo.environment["SANITIZER_REPORTS"]

  static func environment(_ scratch: String) -> [String] {
    guard kept != nil else { return [] }
    // The sanitizer would make it, and for all to see.
    try? FileManager.default.createDirectory(
      atPath: scratch + "/coffre", withIntermediateDirectories: false,
      attributes: [.posixPermissions: 0o700])
    return ["ASAN_OPTIONS", "TSAN_OPTIONS"].map { name in
      let options = ProcessInfo.processInfo.environment[name] ?? ""
      return "\(name)=\(options):log_path=\(scratch)/coffre/report"
    }
  }

  static func keep(_ scratch: String) {
    guard let kept else { return }
    let files = FileManager.default
    let folder = scratch + "/coffre"
    for name in (try? files.contentsOfDirectory(atPath: folder)) ?? []
    where name.hasPrefix("report.") {
      try? files.moveItem(atPath: folder + "/" + name, toPath: kept + "/" + name)
    }
  }
}

/// A small filesystem for a vault to fill; only root can make one.
enum LowerDisk: String {
  case tmpfs
  case ext4

  /// Makes and mounts it at `lower` in the current folder: 96 MiB.
  var make: String {
    switch self {
    case .tmpfs: "mkdir lower && mount -t tmpfs -o size=96m,mode=700 coffre-test lower"
    case .ext4:
      "mkdir lower && truncate -s 96M image && mkfs.ext4 -q image && mount -o loop image lower"
    }
  }

  static let canMake = getuid() == 0 && Command.has("mkfs.ext4")
}

struct Outcome {
  let status: Int32
  let output: String
}

/// A vault in a scratch folder and its mount. Both go when this goes, also when a test fails.
final class Mounted {
  let scratch: String
  /// Goes to every program: no bus of whoever runs the tests.
  var environment = ["DBUS_SYSTEM_BUS_ADDRESS=", "DBUS_SESSION_BUS_ADDRESS="]
  private let lower: LowerDisk?
  var vault: String { scratch + (lower == nil ? "/vault" : "/lower/vault") }
  var mount: String { scratch + "/mount" }
  var password: String { scratch + "/password" }

  /// On the scratch folder's filesystem, or on a small one of its own.
  init(mounting: Bool = true, on lower: LowerDisk? = nil) throws {
    self.lower = lower
    scratch = NSTemporaryDirectory() + "coffre-mount-" + UUID().uuidString
    let files = FileManager.default
    try files.createDirectory(atPath: scratch, withIntermediateDirectories: true)
    try files.createDirectory(
      atPath: scratch + "/mount", withIntermediateDirectories: true)
    try "a long enough password\n".write(
      toFile: scratch + "/password", atomically: true, encoding: .utf8)
    if let lower { try expect("lower disk", sh(lower.make, in: scratch)) }
    try expect("init", coffre(["init", vault, "--password-file", password]))
    if mounting { try open() }
  }

  deinit {
    _ = try? sh("\(tool) lock --force '\(vault)' || fusermount3 -u -z '\(mount)'", in: "/")
    SanitizerReports.keep(scratch)
    // A guarded mount point of root's can't even be removed.
    if Command.isRoot { _ = try? sh("chattr -R -f -i '\(scratch)'", in: "/") }
    if lower != nil { _ = try? sh("umount lower || umount -l lower", in: scratch) }
    try? FileManager.default.removeItem(atPath: scratch)
  }

  private var tool: String { Command.path ?? "coffre" }

  func open(_ options: [String] = []) throws {
    try expect("mount", coffre(["mount", vault, mount, "--password-file", password] + options))
  }

  func lock() throws { try expect("lock", coffre(["lock", vault])) }

  /// kill -9 of the daemon, by its number; returns when its mount is dead.
  func kill() throws {
    let outcome = try sh(
      """
      kill -9 \(daemon())
      while mountpoint -q '\(mount)'; do sleep 0.05; done
      """, in: "/")
    try #require(outcome.status == 0, "\(outcome.output)")
  }

  func reopen() throws {
    try lock()
    try open()
  }

  func coffre(_ arguments: [String]) throws -> Outcome {
    try run([tool] + arguments, in: "/")
  }

  /// Runs a shell script in the mount, or elsewhere.
  @discardableResult
  func sh(_ script: String, in folder: String? = nil) throws -> Outcome {
    try run(["/bin/sh", "-euc", script], in: folder ?? mount)
  }

  /// Runs a script that must succeed.
  func check(_ script: String) throws {
    let outcome = try sh(script)
    #expect(outcome.status == 0, "\(script)\n\(outcome.output)")
  }

  /// The path of a new folder beside the vault.
  func makeFolder(_ name: String) throws -> String {
    let path = scratch + "/" + name
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    return path
  }

  /// Whether anything is mounted right there.
  func isMounted(_ path: String) -> Bool {
    let table = try? String(contentsOfFile: "/proc/self/mountinfo", encoding: .utf8)
    return table?.contains(" \(path) ") ?? false
  }

  /// The daemon's process, as `status` tells it.
  func daemon() throws -> Int32 {
    let output = try coffre(["status", "--json"]).output
    let pattern = /"process": ?(\d+)/
    let match = try #require(try pattern.firstMatch(in: output), "\(output)")
    return try #require(Int32(match.1))
  }

  /// Where the daemon listens.
  func socket() throws -> String {
    let names = try FileManager.default.contentsOfDirectory(atPath: scratch + "/coffre")
    return scratch + "/coffre/" + (try #require(names.first { $0.hasSuffix(".sock") }))
  }

  private func expect(_ what: String, _ outcome: Outcome) throws {
    try #require(outcome.status == 0, "\(what): \(outcome.output)")
  }

  /// Through our own spawn: a child must not inherit the signal mask of a test's thread.
  private func run(_ command: [String], in folder: String) throws -> Outcome {
    let log = scratch + "/log-" + UUID().uuidString
    let output = try System.open(log, [.readWrite, .create])
    let number = ChildDescriptor.number(output.rawValue)
    let own =
      ["XDG_STATE_HOME=\(scratch)/state", "XDG_RUNTIME_DIR=\(scratch)", "COFFRE=\(tool)"]
      + SanitizerReports.environment(scratch)
    let process = try System.spawn(
      "/usr/bin/env", ["env", "-C", folder] + own + environment + command,
      descriptors: [.null, number, number], detached: false)
    let end = try System.wait(for: process)
    let data = try Data(contentsOf: URL(fileURLWithPath: log))
    try System.resize(output, to: 0)
    let text = String(decoding: data, as: UTF8.self)
    switch end {
    case .exited(let status): return Outcome(status: status, output: text)
    case .killed(let signal): return Outcome(status: 128 + signal, output: text)
    }
  }
}
