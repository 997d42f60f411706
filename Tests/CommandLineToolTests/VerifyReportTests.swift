import Testing

@testable import CommandLineTool
@testable import Session
@testable import Volume

/// How findings are shown and how they cross the control socket.
@Suite struct VerifyReportTests {
  private func item(_ change: (inout Damage) -> Void) -> VerifyReport.Item {
    var damage = Damage(chunks: 1..<2, of: 17, at: 3 << 16 | 12345)
    damage.path = Array("Exports/a.csv".utf8)
    change(&damage)
    return VerifyReport.Item(damage)
  }

  @Test func aLineNamesObjectAndPath() {
    #expect(
      item { _ in }.line == "data/0003 slot 12345: file Exports/a.csv bytes 4096-8191")
    let nameless = item { damage in
      damage.path = nil
      damage.isRepaired = true
      damage.detail = "a text"
    }
    #expect(
      nameless.line == "data/0003 slot 12345: inode 17 bytes 4096-8191: a text (repaired)")
    let page = item { damage in
      damage = Damage(.page)
      damage.objects = ["meta-a/0000", "meta-b/0000"]
      damage.slot = 5
      damage.detail = "a map"
    }
    #expect(page.line == "meta-a/0000 slot 5 and meta-b/0000 slot 5: a map")
  }

  /// A name must not be able to do anything to a terminal, nor to look like another line.
  @Test(
    arguments: [
      ("plain", "plain"), ("Größe/日本.txt", "Größe/日本.txt"), ("a\nb", "a\\x0ab"),
      ("\u{1b}[2J", "\\x1b[2J"), ("back\\slash", "back\\x5cslash"), ("\u{9b}1m", "\\xc2\\x9b1m"),
      ("\u{202e}abc", "\\xe2\\x80\\xaeabc"), ("e\u{301}", "e\u{301}"),
    ])
  func pathsAreSafeOnATerminal(path: String, shown: String) {
    #expect(
      VerifyReport.Item.shown(Array(path.utf8)).unicodeScalars.elementsEqual(
        shown.unicodeScalars))
  }

  @Test func bytesThatAreNoTextAreShown() {
    #expect(VerifyReport.Item.shown([0x61, 0xff, 0x62, 0xc3]) == "a\\xffb\\xc3")
    #expect(VerifyReport.Item.shown([0xf0, 0x9f, 0x98]) == "\\xf0\\x9f\\x98")
  }

  @Test func findingsCrossTheSocket() throws {
    for finding in [
      item { _ in }, item { $0.path = Array("a \n%b=c".utf8) },
      item { damage in
        damage = Damage(.map)
        damage.detail = "three things"
        damage.isRepaired = true
      },
    ] {
      let line = finding.message.line.dropLast()
      let message = try #require(Message(line: Array(line)))
      #expect(VerifyReport.Item(message) == finding)
    }
    var report = VerifyReport()
    report.items = [item { _ in }]
    report.files = 3
    report.chunks = 1 << 40
    report.isCompared = true
    let message = try #require(Message(line: Array(report.message.line.dropLast())))
    #expect(VerifyReport(message, items: report.items) == report)
  }

  @Test func theOutcomeIsTheWorstOfAll() {
    var report = VerifyReport()
    #expect(report.outcome == .clean)
    report.items = [item { $0.isRepaired = true }]
    #expect(report.outcome == .repaired)
    report.repairFailure = "no space"
    #expect(report.outcome == .damaged)
    report.repairFailure = nil
    report.items.append(item { _ in })
    #expect(report.outcome == .damaged)
    report.items.removeLast()
    report.omitted = 1
    #expect(report.outcome == .damaged)
  }

  @Test func progressShowsRateAndTime() {
    var progress = ScrubProgress()
    progress.done = 512 << 20
    progress.total = 1 << 30
    #expect(
      ProgressBar.text(progress, nanoseconds: 1_000_000_000)
        == "[##########..........]  50 %  512 MiB/s  0:01 left")
    progress.done = 0
    #expect(
      ProgressBar.text(progress, nanoseconds: 0)
        == "[....................]   0 %  0 MiB/s  99:59:59 left")
    progress.total = 0
    progress.done = 3 << 20
    #expect(ProgressBar.text(progress, nanoseconds: 1_000_000_000) == "3 MiB  3 MiB/s")
  }
}
