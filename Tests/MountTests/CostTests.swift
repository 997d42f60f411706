import Foundation
import POSIX
import Testing

/// What must not grow with use, or with what is in a folder.
@Suite(.serialized, .enabled(if: Command.canMount, "no /dev/fuse, fusermount3 or built command"))
struct CostTests {
  /// A number from a file of /proc.
  private func number(_ name: String, in file: String) throws -> Int {
    let text = String(decoding: try System.readFile(file, limit: 1 << 20), as: UTF8.self)
    let line = try #require(
      text.split(separator: "\n").first { $0.hasPrefix(name + ":") }, "\(text)")
    return try #require(Int(line.split(whereSeparator: { " \t:".contains($0) })[1]))
  }

  /// Directories that are made and removed leave nothing in the daemon's memory.
  @Test(.enabled(if: Command.has("python3"), "no python3"))
  func memoryDoesNotGrowWithDirectories() throws {
    let vault = try Mounted()
    let daemon = try vault.daemon()
    func cycles(_ count: Int) throws {
      try vault.check(
        """
        /usr/bin/python3 -c "import os
        for index in range(\(count)): os.mkdir('d%d' % index); os.rmdir('d%d' % index)"
        """)
    }
    func memory() throws -> Int { try number("VmRSS", in: "/proc/\(daemon)/status") }
    try cycles(8000)
    let before = try memory()
    try cycles(12000)
    let after = try memory()
    // In KiB: 250 bytes for each would be more.
    #expect(after - before < 3000, "\(before) KiB, then \(after) KiB")
  }

  /// Names alone are read from the folder: no file is opened for them.
  @Test(.enabled(if: Command.isRoot && Command.has("python3"), "only root reads /proc/PID/io"))
  func aListingOfNamesOpensNoFile() throws {
    let vault = try Mounted()
    try vault.check(
      """
      mkdir folder
      /usr/bin/python3 -c "
      for index in range(3000): open('folder/%d' % index, 'w').write('x' * 10000)"
      """)
    try vault.reopen()
    let file = "/proc/\(try vault.daemon())/io"
    func read() throws -> Int { try number("rchar", in: file) }
    let before = try read()
    try vault.check("test $(ls -U folder | wc -l) = 3000")
    let listed = try read() - before
    try vault.check("cat folder/* | wc -c")
    let opened = try read() - before - listed
    // To open a file is to read 4096 bytes of it.
    #expect(listed < 1_000_000, "\(listed) bytes for the names, \(opened) with the content")
    #expect(opened > 3000 * 10000)
  }
}
