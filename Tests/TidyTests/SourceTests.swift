import Testing

/// Rules that no compiler checks.
@Suite struct SourceTests {
  private func expectNone(_ lines: [Line], _ rule: Comment, limit: Int = 20) {
    for line in lines.prefix(limit) { Issue.record("\(rule.rawValue): \(line.description)") }
    if lines.count > limit { Issue.record("\(rule.rawValue): \(lines.count) lines in all") }
  }

  private func lines(_ files: [Repository.File], _ isWrong: (String) -> Bool) -> [Line] {
    files.flatMap { $0.lines.filter { isWrong($0.text) } }
  }

  @Test func theFilesAreFound() {
    #expect(Repository.sources.count > 50)
    #expect(Repository.tests.count > 20)
    #expect(Repository.package.lines.count > 50)
  }

  /// Where memory is touched without checks, a second look is due: it is done in five modules only.
  @Test func uncheckedMemoryStaysBehindTheFence() {
    let fenced: Set = ["Bytes", "POSIX", "Bus", "Crypto", "FuseBridge"]
    let outside = Repository.sources.filter { !fenced.contains($0.module) }
    expectNone(lines(outside) { $0.lowercased().contains("unsafe") }, "unchecked memory")
  }

  @Test func linesFitInto100Columns() {
    let files = Repository.sources + Repository.tests + [Repository.package]
    expectNone(lines(files) { $0.count > 100 }, "more than 100 columns")
  }

  @Test func linesEndCleanly() {
    let files = Repository.sources + Repository.tests + [Repository.package]
    expectNone(lines(files) { $0.hasSuffix(" ") || $0.contains("\t") }, "a tab or a blank end")
  }

  @Test func filesAreShort() {
    for file in Repository.sources where file.lines.count > 400 {
      Issue.record("\(file.path) has \(file.lines.count) lines, more than 400")
    }
  }

  /// A failure is an error or a precondition with a reason, never a crash by omission.
  @Test func nothingCrashesByOmission() {
    // Put together here, so that this file does not break its own rule.
    let words = ["try" + "!", "fatal" + "Error(", "as" + "! ", "assert(" + "false"]
    let files = Repository.sources + Repository.tests
    expectNone(lines(files) { line in words.contains { line.contains($0) } }, "a crash")
  }

  @Test func nothingIsLeftForLater() {
    let words = ["TO" + "DO", "FIX" + "ME", "XX" + "X", "HA" + "CK"]
    let files =
      Repository.sources + Repository.tests + Repository.shims + Repository.documents
      + [Repository.package]
    expectNone(
      lines(files) { line in
        line.split { !$0.isLetter }.contains { words.contains(String($0)) }
      }, "left for later")
  }

  /// What is written must hold on any machine.
  @Test func noPathOfTheBuildMachineIsMentioned() {
    let paths = ["/work" + "/", "/ro" + "ot/"]
    let files =
      Repository.documents + Repository.sources + Repository.tests + Repository.shims
      + [Repository.package]
    expectNone(
      lines(files) { line in paths.contains { line.contains($0) } }, "a path of this machine")
  }
}
