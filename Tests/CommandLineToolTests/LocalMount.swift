import Crypto
import Disk
import Engine
import FuseBridge
import POSIX
import TestKit
import Volume

/// A new volume on a disk of the test's choice, mounted by the process of the test. Whoever uses it
/// has to be another process.
final class LocalMount: Sendable {
  static let canMount =
    System.fileExists("/dev/fuse")
    && (System.userNumber == 0 || System.fileExists("/usr/bin/fusermount3"))
  static let identifier = [UInt8](repeating: 9, count: 16)

  let scratch = ScratchDirectory()
  let volume: Volume
  let session: MountSession
  var path: String { scratch.path("mount") }

  init(on disk: any Disk, _ options: MountOptions) throws {
    try System.makeDirectory(scratch.path("mount"), mode: 0o700)
    volume = try Self.makeVolume(on: disk)
    session = try MountSession(
      volume: volume, mountPoint: scratch.path("mount"), options: options)
    let isReady = Monitor(false)
    try Thread.start("test-mount") { [session] in
      try? session.run { isReady.withLock { $0 = true } }
    }
    isReady.withLock(when: { $0 }, timeout: 20_000_000_000) { precondition($0, "a mount") }
  }

  deinit { stop() }

  /// A volume without threads of its own.
  static func makeVolume(on disk: any Disk) throws -> Volume {
    var options = EngineOptions()
    options.worksInBackground = false
    let master = SecretBytes(random: 32)
    let owner = Caller(user: System.userNumber, group: System.groupNumber, mask: 0o077)
    try Volume.create(
      on: disk, master: master, vault: identifier, options: options, anchor: nil, owner: owner)
    return try Volume.open(
      on: disk, master: master, vault: identifier, options: options, anchor: nil)
  }

  func stop() { session.stop { try? volume.close() } }

  /// Starts a script, in the scratch folder; `$mount` is the mount.
  func start(_ script: String) throws -> Int32 {
    try System.spawn(
      "/bin/sh", ["sh", "-euc", "cd '\(scratch.path)'; mount='\(path)'; \(script)"],
      descriptors: [.null, .null, .null], detached: false)
  }

  func run(_ script: String) throws -> ProcessEnd { try System.wait(for: start(script)) }

  /// Waits until something is in the scratch folder; false if it does not come.
  func waits(for name: String) -> Bool {
    for _ in 0..<400 where !System.fileExists(scratch.path(name)) {
      Clock.sleep(nanoseconds: 50_000_000)
    }
    return System.fileExists(scratch.path(name))
  }
}

extension System {
  static func fileExists(_ path: String) -> Bool { (try? linkStatus(at: path)) != nil }
}
