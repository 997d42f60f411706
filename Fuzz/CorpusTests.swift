import Foundation
import TestKit
import Testing

/// Every decoder reads every input of every corpus once: what fuzzing found stays fixed.
@Suite struct CorpusTests {
  private static let corpus = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().appendingPathComponent("Corpus")

  private static func inputs(_ target: FuzzTarget) throws -> [URL] {
    try FileManager.default.contentsOfDirectory(
      at: corpus.appendingPathComponent(target.rawValue), includingPropertiesForKeys: nil)
  }

  @Test(arguments: FuzzTarget.allCases) func nothingTraps(target: FuzzTarget) throws {
    let inputs = try Self.inputs(target)
    #expect(!inputs.isEmpty)
    for input in inputs { target.run([UInt8](try Data(contentsOf: input))) }
  }

  /// Inputs at random, as many as take no time; the fuzzer does more.
  @Test(arguments: FuzzTarget.allCases) func randomBytesTrapNothing(target: FuzzTarget) {
    var random = SplitMix64(seed: 1)
    for _ in 0..<5 { target.run(random.bytes(random.below(600))) }
  }
}
