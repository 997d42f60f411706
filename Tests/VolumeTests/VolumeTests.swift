import Bytes
import Crypto
import Disk
import Engine
import Glibc
import POSIX
import Testing

@testable import Volume

/// A vault in a scratch folder, to be opened again and again.
final class ScratchVault {
  let path: String
  let vault = [UInt8](repeating: 7, count: 16)
  let owner = Caller(user: 0, group: 0, mask: 0o022)
  private let master = SecretBytes(random: 32)

  init() throws {
    var template = Array("/tmp/coffre-test-XXXXXX".utf8CString)
    path = try #require(
      unsafe template.withUnsafeMutableBufferPointer { buffer -> String? in
        guard let base = buffer.baseAddress, let made = unsafe mkdtemp(base) else { return nil }
        return unsafe String(cString: made)
      })
    let disk = try PosixDisk(path: path)
    try Volume.create(
      on: disk, master: master, vault: vault, options: EngineOptions(), anchor: nil,
      owner: owner)
  }

  deinit { unsafe _ = system("rm -rf '\(path)'") }

  func open(_ change: (inout EngineOptions) -> Void = { _ in }) throws -> Volume {
    var options = EngineOptions()
    change(&options)
    return try Volume.open(
      on: try PosixDisk(path: path), master: master, vault: vault, options: options, anchor: nil)
  }
}

extension Volume {
  func text(_ inode: InodeNumber, count: Int = 1 << 20, at offset: UInt64 = 0) throws -> [UInt8] {
    let buffer = Buffer(count: count)
    var span = buffer.mutableBytes(in: 0..<count)
    let length = try read(inode, into: &span, at: offset)
    return buffer.load(0..<length)
  }

  func put(_ inode: InodeNumber, _ bytes: [UInt8], at offset: UInt64 = 0) throws {
    try write(inode, Buffer(bytes).bytes, at: offset, clearsSetID: false)
  }
}

@Suite struct VolumeSmokeTests {
  let caller = Caller(user: 0, group: 0, mask: 0o022)

  @Test func keepsFilesAcrossMounts() throws {
    let vault = try ScratchVault()
    var volume = try vault.open()
    let file = try volume.makeNode(
      FileName("hello"), in: .root, mode: 0o100644, device: 0, by: caller)
    try volume.put(file.inode, Array("hello, world".utf8))
    #expect(try volume.text(file.inode) == Array("hello, world".utf8))
    let big = try volume.makeNode(
      FileName("big"), in: .root, mode: 0o100644, device: 0, by: caller)
    let content = (0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) }
    try volume.put(big.inode, content)
    try volume.sync(big.inode, dataOnly: false)
    try volume.close()

    volume = try vault.open()
    let found = try volume.lookup(FileName("hello"), in: .root)
    #expect(found.size == 12)
    #expect(try volume.text(found.inode) == Array("hello, world".utf8))
    #expect(try volume.text(big.inode, count: 4 << 20) == content)
    try volume.unlink(FileName("big"), in: .root)
    #expect(throws: VolumeError.system(.noSuchFile)) {
      try volume.lookup(FileName("big"), in: .root)
    }
    try volume.close()
    volume = try vault.open()
    var names: [[UInt8]] = []
    try volume.readDirectory(.root, after: 0) {
      names.append($0.name)
      return true
    }
    #expect(names == [Array("hello".utf8)])
    try volume.close()
  }

  @Test func holdsManyNames() throws {
    let vault = try ScratchVault()
    var volume = try vault.open()
    for index in 0..<20_000 {
      _ = try volume.makeNode(
        FileName("file-\(index)"), in: .root, mode: 0o100644, device: 0, by: caller)
    }
    try volume.close()
    volume = try vault.open()
    var count = 0
    try volume.readDirectory(.root, after: 0) { _ in
      count += 1
      return true
    }
    #expect(count == 20_000)
    for index in 0..<20_000 {
      try volume.unlink(FileName("file-\(index)"), in: .root)
    }
    #expect(try volume.attributes(of: .root).size == 0)
    try volume.close()
  }
}
