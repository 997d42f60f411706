import Testing

/// A function fits on a screen.
@Suite struct FunctionTests {
  /// Functions of more than one line: where each begins, and how long it is.
  ///
  /// It relies on swift-format: a body ends with a brace that is indented as its declaration is.
  private static func functions(_ lines: [String]) -> [(start: Int, count: Int)] {
    let pattern = /^( *)(?:[\w@()]+ )*(?:func |init[?(<]|deinit\b|subscript[(<])/
    let starts = lines.indices.compactMap { index in
      lines[index].firstMatch(of: pattern).map { (index, String($0.1)) }
    }
    return starts.enumerated().compactMap { position, start in
      let rest = lines[start.0...].dropFirst()
      guard let end = rest.firstIndex(where: { $0.hasPrefix(start.1 + "}") }) else { return nil }
      // A declaration without a body, as in a protocol, is followed by another before any brace.
      let next = starts[(position + 1)...].first { $0.1 == start.1 }?.0
      if let next, next < end { return nil }
      return (start.0, end - start.0 + 1)
    }
  }

  @Test func functionsAreMeasured() {
    let lines = [
      "protocol P {", "  func none()", "  func other() -> Int", "}", "struct S {",
      "  package mutating func four() {", "    if true {", "    }", "  }",
      "  init?(a: Int) { nil }", "  deinit {", "    close()", "  }", "}",
    ]
    let found = Self.functions(lines)
    #expect(found.map(\.start) == [5, 10])
    #expect(found.map(\.count) == [4, 3])
  }

  @Test func functionsHaveAtMost70Lines() {
    var count = 0
    for file in Repository.sources {
      for function in Self.functions(file.lines.map(\.text)) {
        count += 1
        guard function.count > 70 else { continue }
        Issue.record("\(function.count) lines: \(file.lines[function.start])")
      }
    }
    #expect(count > 300, "the functions are found")
  }

  /// What C libraries are for stays in one module each.
  @Test func eachLibraryHasOneFence() {
    let owners = ["CFuse3": "FuseBridge", "CCrypto": "Crypto", "CArgon2": "Crypto"]
    for file in Repository.sources {
      for line in file.lines {
        guard let match = line.text.firstMatch(of: /^(?:\w+ )?import (\w+)$/),
          let owner = owners[String(match.1)], owner != file.module
        else { continue }
        Issue.record("only \(owner) imports it: \(line)")
      }
    }
  }
}
