import Testing
import Volume

@testable import CommandLineTool
@testable import FileTree

/// What `coffre ls` shows of a file.
@Suite struct ListTests {
  private func information(_ mode: UInt32) -> FileInformation {
    FileInformation(
      mode: mode, user: 1000, group: 100, links: 1, size: 4711,
      modified: Timestamp(seconds: 0, nanoseconds: 0))
  }

  @Test(arguments: [
    (UInt32(0o100644), "-rw-r--r--"), (0o040755, "drwxr-xr-x"), (0o120777, "lrwxrwxrwx"),
    (0o010600, "prw-------"), (0o140000, "s---------"), (0o020620, "crw--w----"),
    (0o060000, "b---------"), (0o104755, "-rwsr-xr-x"), (0o106644, "-rwSr-Sr--"),
    (0o041777, "drwxrwxrwt"), (0o041776, "drwxrwxrwT"),
  ])
  func modesAreWrittenAsLsDoes(mode: UInt32, text: String) {
    #expect(ListCommand.mode(information(mode)) == text)
  }

  @Test func detailsStandInColumns() {
    let text = ListCommand.details(information(0o100600))
    #expect(text.hasPrefix("-rw-------     1000      100         4711 19"))
  }

  /// A path that is no text can be told, and not taken for another one.
  @Test func jsonHasSafePaths() {
    let entry = ListedEntry(
      path: [0x61, 0x2f, 0xff, 0x5c, 0x0a], information: information(0o100600), target: nil)
    let text = ListCommand.json(entry).text
    #expect(text.contains(#""path": "a/\\xff\\x5c\\x0a""#) && text.contains(#""mode": "0600""#))
    #expect(text.contains(#""type": "file", "size": 4711"#) && text.contains(#""target": null"#))
  }
}
