import Bytes
import Crypto
import Disk
import Engine
import POSIX
import Volume

/// Measures volume calls without FUSE, on a vault in the folder given as the first argument (made
/// and left). The second is the number of small files; the number of bytes streamed goes with it.
///
/// Each line: what, calls, microseconds a call, and MB/s where bytes move.
package func runBenchmarks() {
  let arguments = CommandLine.arguments
  let count = arguments.count == 3 ? Int(arguments[2]) ?? 0 : 20_000
  guard arguments.count == 2 || arguments.count == 3, count > 0 else {
    print("usage: bench-engine EMPTY-FOLDER [FILES]")
    return
  }
  do { try Benchmarks(path: arguments[1], count: count).run() } catch { print("failed: \(error)") }
}

private struct Benchmarks {
  let path: String
  let count: Int
  let caller = Caller(user: 0, group: 0, mask: 0o022)

  func run() throws {
    let disk = try PosixDisk(path: path)
    let master = SecretBytes(random: 32)
    let vault = Random.bytes(16)
    try Volume.create(
      on: disk, master: master, vault: vault, options: EngineOptions(), anchor: nil,
      owner: caller)
    let volume = try Volume.open(
      on: disk, master: master, vault: vault, options: EngineOptions(), anchor: nil)
    let names = try (0..<count).map { try FileName("file-\($0)") }
    var files: [InodeNumber] = []
    try measure("create", count) {
      for name in names {
        files.append(
          try volume.makeNode(name, in: .root, mode: 0o100644, device: 0, by: caller).inode)
      }
    }
    let small = Buffer(count: 1024)
    try measure("write 1 KiB", count, bytes: count * 1024) {
      for file in files { try volume.write(file, small.bytes, at: 0, clearsSetID: false) }
    }
    try measure("sync all", 1) { try volume.syncAll() }
    try measure("lookup", count) { for name in names { _ = try volume.lookup(name, in: .root) } }
    try measure("read 1 KiB", count, bytes: count * 1024) {
      for file in files {
        var span = small.mutableBytes(in: 0..<1024)
        _ = try volume.read(file, into: &span, at: 0)
      }
    }
    try measure("unlink", count) { for name in names { try volume.unlink(name, in: .root) } }
    try stream(volume)
    try measure("close", 1) { try volume.close() }
  }

  private func stream(_ volume: Volume) throws {
    let big = try volume.makeNode(
      FileName("big"), in: .root, mode: 0o100644, device: 0, by: caller
    ).inode
    let blocks = max(1, count / 40)
    let total = blocks << 20
    let block = Buffer(count: 1 << 20)
    try measure("write 1 MiB", blocks, bytes: total) {
      for index in 0..<blocks {
        try volume.write(big, block.bytes, at: UInt64(index) << 20, clearsSetID: false)
      }
    }
    try measure("sync", 1) { try volume.sync(big, dataOnly: false) }
    try measure("read 128 KiB", 8 * blocks, bytes: total) {
      for index in 0..<(8 * blocks) {
        var span = block.mutableBytes(in: 0..<(128 << 10))
        _ = try volume.read(big, into: &span, at: UInt64(index) << 17)
      }
    }
    var generator: UInt64 = 1
    func place() -> UInt64 {
      generator = generator &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return ((generator >> 33) % UInt64(256 * blocks)) << 12
    }
    try measure("random read 4 KiB", count, bytes: count * 4096) {
      for _ in 0..<count {
        var span = block.mutableBytes(in: 0..<4096)
        _ = try volume.read(big, into: &span, at: place())
      }
    }
    try measure("random write 4 KiB", count, bytes: count * 4096) {
      for _ in 0..<count {
        try volume.write(big, block.bytes(in: 0..<4096), at: place(), clearsSetID: false)
      }
    }
    try measure("write 4 KiB and sync", 200, bytes: 200 * 4096) {
      for index in 0..<200 {
        try volume.write(
          big, block.bytes(in: 0..<4096), at: UInt64(index) << 12, clearsSetID: false)
        try volume.sync(big, dataOnly: false)
      }
    }
  }

  private func measure(
    _ what: String, _ calls: Int, bytes: Int = 0, _ body: () throws -> Void
  ) throws {
    let start = Clock.monotonic
    try body()
    let time = Double(Clock.monotonic - start)
    let each = time / 1000 / Double(calls)
    var line = "\(what): \(calls) calls, \((each * 100).rounded() / 100) us each"
    if bytes > 0 { line += ", \((Double(bytes) / time * 1000).rounded()) MB/s" }
    print(line)
  }
}
