import Bytes
import Crypto
import Disk
import Engine
import Format
import Glibc
import POSIX
import TestKit

@testable import Vault
@testable import Volume

/// A vault with a known tree in four states, made once: each is a store and what this machine
/// remembered of it then.
final class Specimen: Sendable {
  enum State: String, CaseIterable {
    /// Closed, one session before `clean`.
    case older
    case clean
    /// Not closed: the journal has frames.
    case killed
  }

  /// The volume after a frame, by the frame's sequence.
  struct Moment {
    let sequence: UInt64
    let tree: Tree
    /// What came before this frame was synced before it was appended.
    let isAfterSync: Bool
  }

  static let shared: Result<Specimen, any Error> = Result {
    let specimen = try Specimen()
    // It lives as long as the process; so does its folder.
    atexit {
      if case .success(let specimen) = Specimen.shared { removeAll(specimen.scratch.path) }
    }
    return specimen
  }

  let configuration: Configuration
  let older: Tree
  let clean: Tree
  /// Of the killed one: before the first frame of its session, and after each.
  let moments: [Moment]
  private let masterBytes: [UInt8]
  private let scratch = ScratchDirectory()

  var master: SecretBytes { SecretBytes(copying: Buffer(masterBytes).bytes) }
  var killed: Tree { moments[moments.count - 1].tree }

  static var options: EngineOptions {
    var options = EngineOptions()
    options.worksInBackground = false
    options.journalSegmentBytes = 512 << 10
    return options
  }

  func path(_ state: State) -> String { scratch.path(state.rawValue) }
  func anchor(_ state: State) -> String { scratch.path(state.rawValue + "-state") }

  func tree(_ state: State) -> Tree {
    switch state {
    case .older: older
    case .clean: clean
    case .killed: killed
    }
  }

  private init() throws {
    let key = SecretBytes(random: 32)
    masterBytes = array(key.bytes)
    configuration = try Vault.configuration(for: key, secret(Self.password))
    let scratch = self.scratch
    let (store, state) = (scratch.path("store"), scratch.path("state"))
    try System.makeDirectory(store, mode: 0o700)
    try System.makeDirectory(state, mode: 0o700)
    let disk = try PosixDisk(path: store)
    let anchor = try PosixDisk(path: state)
    try Vault.fill(disk, configuration, key, Self.options, anchor: anchor)
    let vault = configuration.vault
    func open() throws -> Volume {
      try Volume.open(
        on: disk, master: key, vault: vault, options: Self.options, anchor: anchor)
    }
    func keep(_ name: State) throws {
      try copyFolder(store, to: scratch.path(name.rawValue))
      try copyFolder(state, to: scratch.path(name.rawValue + "-state"))
    }
    var volume = try open()
    try Planting(volume).first()
    older = try Tree(volume)
    try volume.close()
    try keep(.older)
    volume = try open()
    try Planting(volume).second()
    clean = try Tree(volume)
    try volume.close()
    try keep(.clean)
    volume = try open()
    moments = try Planting(volume).third()
    try keep(.killed)
    try volume.close()
  }

  static let password = "the password of the specimen"
}

func secret(_ text: String) -> SecretBytes {
  SecretBytes(copying: Buffer(Array(text.utf8)).bytes)
}
