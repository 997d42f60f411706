import Testing

/// The modules form layers: each imports only what Package.swift lists for it.
@Suite struct ImportTests {
  /// What comes with Swift.
  private static let standard: Set = ["Glibc", "Synchronization"]
  /// Tests that run other programs may take their tools from Foundation; Coffre itself may not.
  private static let standardInTests = standard.union(["Foundation"])

  /// The modules Package.swift lists for each module, read from its text.
  private static let table: [String: Set<String>] = {
    let words = Repository.package.lines.flatMap { line in
      line.text.split(separator: "//", omittingEmptySubsequences: false)[0].split(separator: " ")
    }
    let text = words.joined(separator: " ").split(separator: "( ").joined(separator: "(")
    var table: [String: Set<String>] = [:]
    for start in ["module(\"", "tests(\"", ".target(name: \"", ".executableTarget(name: \""] {
      for entry in text.split(separator: start).dropFirst() {
        let entry = entry.prefix { $0 != ")" }
        let list = entry.drop { $0 != "[" }.prefix { $0 != "]" }
        // Between quotes is every second piece.
        let names = list.split(separator: "\"", omittingEmptySubsequences: false).enumerated()
          .filter { $0.offset % 2 == 1 }.map { String($0.element) }
        let extra = start == "tests(\"" ? ["TestKit", "Testing"] : []
        table[String(entry.prefix { $0 != "\"" })] = Set(names + extra)
      }
    }
    return table
  }()

  /// The module an import names, if the line is one.
  private static func imported(_ line: String) -> String? {
    let modifiers: Set = ["package", "public", "internal", "private", "fileprivate", "@testable"]
    var words = line.split(separator: " ").map(String.init)[...]
    while let first = words.first, modifiers.contains(first) { words = words.dropFirst() }
    guard words.first == "import", words.count == 2 else { return nil }
    return words.last
  }

  @Test func theTableIsRead() {
    #expect(Self.table["Bytes"] == [])
    #expect(Self.table["Disk"] == ["POSIX", "Bytes"])
    #expect(Self.table["coffre"] == ["CommandLineTool"])
    #expect(Self.table["TidyTests"] == ["POSIX", "Bytes", "TestKit", "Testing"])
    #expect(Self.table["TestKit"]?.contains("Volume") == true)
    let missing = Set((Repository.sources + Repository.tests).map { $0.module })
      .filter { Self.table[$0] == nil }
    #expect(missing == [])
  }

  @Test func importsAreRecognised() {
    #expect(Self.imported("import Bytes") == "Bytes")
    #expect(Self.imported("package import Bytes") == "Bytes")
    #expect(Self.imported("@testable import Crypto") == "Crypto")
    #expect(Self.imported("// import Bytes") == nil)
    #expect(Self.imported("  let important = 1") == nil)
  }

  @Test func modulesImportOnlyWhatTheirLayerMay() {
    for file in Repository.sources + Repository.tests {
      let standard = file.path.hasPrefix("Tests/") ? Self.standardInTests : Self.standard
      let allowed = (Self.table[file.module] ?? []).union(standard)
      for line in file.lines {
        guard let module = Self.imported(line.text), !allowed.contains(module) else { continue }
        Issue.record("\(file.module) may not import \(module): \(line.description)")
      }
    }
  }

  /// A module that imports one listed after it would make a ring of the layers.
  @Test func layersPointDownwards() {
    for (module, dependencies) in Self.table {
      for dependency in dependencies {
        #expect(Self.table[dependency]?.contains(module) != true, "\(module) <> \(dependency)")
      }
    }
  }
}
