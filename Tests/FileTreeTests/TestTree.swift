import Bytes
import Crypto
import Engine
import FileTree
import POSIX
import TestKit
import Volume

/// Both kinds of trees: whatever is expected of one is expected of the other.
enum TreeKind: String, CaseIterable { case volume, system }

/// An empty tree.
final class TestTree {
  let top: any Folder
  private let scratch = ScratchDirectory()
  private let volume: Volume?
  /// Of a tree of the system.
  var path: String { scratch.path }

  init(_ kind: TreeKind) throws {
    switch kind {
    case .system:
      volume = nil
      top = try SystemFolder(path: Array(scratch.path.utf8))
    case .volume:
      let volume = try Self.makeVolume()
      self.volume = volume
      top = VolumeFolder(volume)
    }
  }

  deinit { try? volume?.close() }

  private static func makeVolume() throws -> Volume {
    let disk = SimulatedDisk()
    let identifier = [UInt8](repeating: 5, count: 16)
    var options = EngineOptions()
    options.worksInBackground = false
    let master = SecretBytes(random: 32)
    try Volume.create(
      on: disk, master: master, vault: identifier, options: options, anchor: nil,
      owner: Caller(user: System.userNumber, group: System.groupNumber, mask: 0))
    return try Volume.open(
      on: disk, master: master, vault: identifier, options: options, anchor: nil)
  }

  // MARK: - Making and looking

  func makeFile(_ path: String, _ bytes: [UInt8] = []) throws {
    let place = try place(path)
    let file = try place.folder.makeFile(try name(place))
    if !bytes.isEmpty { try file.write(Buffer(bytes).bytes, at: 0) }
  }

  func makeFolder(_ path: String) throws {
    let place = try place(path)
    try place.folder.makeFolder(try name(place))
  }

  func makeLink(_ path: String, to target: String) throws {
    let place = try place(path)
    try place.folder.makeLink(try name(place), to: Array(target.utf8))
  }

  func place(_ path: String, _ options: PathOptions = []) throws(VolumeError) -> Place {
    try PathWalk.place(of: Array(path.utf8), in: top, options)
  }

  func folder(_ path: String) throws(VolumeError) -> any Folder { try place(path).opened() }

  func file(_ path: String) throws(VolumeError) -> any File {
    let place = try place(path, .followsLast)
    guard let name = place.name else { throw .system(.isDirectory) }
    return try place.folder.file(name)
  }

  func content(_ path: String) throws -> [UInt8] {
    let file = try file(path)
    let buffer = Buffer(count: 1 << 16)
    var span = buffer.mutableBytes(in: 0..<buffer.count)
    let count = try file.read(into: &span, at: 0)
    return buffer.load(0..<count)
  }

  /// The names below the top, as paths.
  func all() throws -> [String] {
    var paths: [String] = []
    try TreeListing.entries(of: top, isWhole: true) { entry in
      paths.append(String(decoding: entry.path, as: UTF8.self))
      return true
    }
    return paths
  }

  private func name(_ place: Place) throws(VolumeError) -> [UInt8] {
    guard let name = place.name else { throw .system(.exists) }
    return name
  }
}

/// What a call throws; nil if nothing.
func failure(_ body: () throws(VolumeError) -> Void) -> VolumeError? {
  do throws(VolumeError) {
    try body()
    return nil
  } catch { return error }
}

func copyFailure(_ body: () throws(CopyError) -> Void) -> CopyError? {
  do throws(CopyError) {
    try body()
    return nil
  } catch { return error }
}
