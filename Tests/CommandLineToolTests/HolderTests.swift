import POSIX
import TestKit
import Testing

@testable import Session

/// Which processes keep something of a filesystem.
@Suite struct HolderTests {
  private let folder = ScratchDirectory()

  private func find(_ process: Int32) throws -> Holder? {
    let device = try #require(System.device(ofOpen: folder.path))
    return Holder.find(of: [device])[device]?.first { $0.process == process }
  }

  /// A script that has come as far as to make the file `ready`.
  private func start(_ script: String) throws -> Int32 {
    let process = try System.spawn(
      "/bin/sh", ["sh", "-euc", "cd '\(folder.path)'; \(script)"],
      descriptors: [.null, .null, .null], detached: false)
    for _ in 0..<400 where !System.fileExists(folder.path("ready")) {
      Clock.sleep(nanoseconds: 20_000_000)
    }
    return process
  }

  @Test func whatAProcessKeepsIsFound() throws {
    let process = try start("echo x > file; exec 7< file; touch ready; exec sleep 60")
    defer {
      _ = try? System.wait(
        for: System.spawn(
          "/bin/kill", ["kill", "\(process)"], descriptors: [.null, .null, .null],
          detached: false))
      _ = try? System.wait(for: process)
    }
    let holder = try #require(try find(process))
    let paths = holder.things.map { ($0.use, String(decoding: $0.path, as: UTF8.self)) }
    #expect(paths.contains { $0 == (.open, folder.path("file")) })
    #expect(paths.contains { $0 == (.folder, folder.path) })
    #expect(holder.line(withPaths: true).contains("open \(folder.path("file"))"))
    #expect(!holder.line(withPaths: false).contains("file"))
    let device = try #require(System.device(ofOpen: folder.path))
    let others = Holder.find(of: [device], but: [process])[device]
    #expect(others?.contains { $0.process == process } != true)
    #expect(Holder.find(of: Set<String>()).isEmpty && Holder.find(of: ["0:0"]).isEmpty)
    #expect(try find(System.processNumber) == nil, "who asks holds nothing")
  }

  @Test func mappingsAreRead() {
    let line = "7f3c5a200000-7f3c5a400000 r--s 00000000 00:3f 42                 /m/a  b (deleted)"
    let mapping = Holder.mapping(Array(line.utf8))
    #expect(mapping?.device == "0:63")
    #expect(mapping?.path == Array("/m/a  b (deleted)".utf8))
    for line in [
      "7f3c-7f3d rw-p 0 00:00 0 ", "7f3c-7f3d rw-p 0 00:00 0 [heap]", "", "a b c zz:1 0 /x",
      "a b c 1 0 /x",
    ] {
      #expect(Holder.mapping(Array(line.utf8)) == nil)
    }
  }

  /// What a name has in it reaches no terminal as it is.
  @Test func pathsAreSafeToShow() {
    let holder = Holder(
      process: 7, command: "vi",
      things: (0..<6).map { Holder.Thing(use: .open, path: Array("/m/\u{1b}[2J\($0)".utf8)) })
    let line = holder.line(withPaths: true)
    #expect(
      line == "process 7 (vi): "
        + (0..<4).map { "open /m/\\x1b[2J\($0)" }.joined(separator: ", ") + ", and 2 more")
    #expect(holder.line(withPaths: false) == "process 7 (vi): open")
  }
}
