import Testing

@Suite struct CommandTests {
  /// Who names a command means it to be tested: that must not be skipped in silence.
  @Test(.enabled(if: Command.wanted != nil, "COFFRE is not set"))
  func theCommandThatIsNamedCanBeTested() {
    #expect(Command.path != nil, "COFFRE is no program: \(Command.wanted ?? "")")
    #expect(Command.canMount, "/dev/fuse or fusermount3 is missing")
  }
}
