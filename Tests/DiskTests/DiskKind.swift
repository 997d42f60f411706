import Bytes
import Disk
import POSIX
import TestKit

/// The disks that must behave alike.
enum DiskKind: CaseIterable, Sendable {
  case posix, simulated

  func make() throws -> TestDisk {
    switch self {
    case .posix:
      let folder = ScratchDirectory()
      return TestDisk(disk: try PosixDisk(path: folder.path), folder: folder)
    case .simulated: return TestDisk(disk: SimulatedDisk(), folder: nil)
    }
  }
}

/// A disk and the folder that must live as long.
final class TestDisk {
  let disk: any Disk
  private let folder: ScratchDirectory?

  init(disk: any Disk, folder: ScratchDirectory?) {
    self.disk = disk
    self.folder = folder
  }
}

extension DiskFile {
  func put(_ bytes: [UInt8], at offset: UInt64) throws(DiskError) {
    let buffer = Buffer(bytes)
    try write(buffer.bytes, at: offset)
  }

  func get(_ count: Int, at offset: UInt64) throws(DiskError) -> [UInt8] {
    let buffer = Buffer(count: count)
    var span = buffer.mutableBytes(in: 0..<count)
    let length = try read(into: &span, at: offset)
    return buffer.load(0..<length)
  }
}

/// The error number of a call that must fail; nil if it does not.
func failure(_ body: () throws(DiskError) -> Void) -> Errno? {
  do throws(DiskError) {
    try body()
    return nil
  } catch { return error.errno }
}

extension Disk {
  /// The error number of opening an object.
  func openFailure(_ name: String, writable: Bool = false) -> Errno? {
    failure { () throws(DiskError) in _ = try open(name, writable: writable) }
  }

  /// The error number of making an object.
  func createFailure(_ name: String) -> Errno? {
    failure { () throws(DiskError) in _ = try create(name) }
  }
}
