import TestKit

/// The name of a power loss, from which it is repeated: `scenario:step:mode:seed`, then for one
/// while the mount after it recovers `/step:mode:seed`, and so on.
struct CrashPoint: Hashable, CustomStringConvertible {
  struct Cut: Hashable, CustomStringConvertible {
    /// Steps of the disk that were done, since the scenario or the mount began.
    let step: Int
    let mode: CrashMode
    /// What becomes of each change that was not synced.
    let seed: UInt64

    var description: String { "\(step):\(mode.rawValue):\(seed)" }
  }

  let scenario: UInt64
  let cuts: [Cut]

  init(_ scenario: UInt64, _ cuts: [Cut]) {
    self.scenario = scenario
    self.cuts = cuts
  }

  init?(_ text: String) {
    guard let colon = text.firstIndex(of: ":"), let scenario = UInt64(text[..<colon]) else {
      return nil
    }
    self.scenario = scenario
    var cuts: [Cut] = []
    for part in text[text.index(after: colon)...].split(separator: "/") {
      let fields = part.split(separator: ":")
      guard fields.count == 3, let step = Int(fields[0]),
        let mode = CrashMode(rawValue: String(fields[1])), let seed = UInt64(fields[2])
      else { return nil }
      cuts.append(Cut(step: step, mode: mode, seed: seed))
    }
    self.cuts = cuts
  }

  var description: String {
    "\(scenario):" + cuts.map(\.description).joined(separator: "/")
  }

  /// Whether nothing was lost but the processes.
  var isKill: Bool { cuts.allSatisfy { $0.mode == .keepAll } }

  func then(_ cut: Cut) -> CrashPoint { CrashPoint(scenario, cuts + [cut]) }
}
