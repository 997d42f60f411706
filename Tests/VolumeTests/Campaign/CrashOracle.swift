import TestKit

/// Tells whether a disk holds what it must.
///
/// Names and attributes are those of one state. The bytes of each file are, as a whole, those of
/// that state or of an earlier one, but not earlier than the last that a frame had put there.
struct CrashOracle {
  private struct State {
    let names: Listing
    /// The node of each path.
    let nodes: [String: Int]
  }

  private struct Version {
    let from: Int
    let content: FileContent
  }

  private let states: [State]
  private let versions: [Int: [Version]]
  private let history: CrashHistory

  init(_ history: CrashHistory) {
    self.history = history
    var states: [State] = []
    var versions: [Int: [Version]] = [:]
    for (index, model) in history.states.enumerated() {
      let listing = model.listing(attributes: true)
      states.append(State(names: listing.names, nodes: model.numbers))
      for (path, node) in model.numbers {
        guard let content = listing.content(of: path) else { continue }
        if versions[node]?.last?.content == content { continue }
        versions[node, default: []].append(Version(from: index, content: content))
      }
    }
    self.states = states
    self.versions = versions
  }

  /// What is wrong with a tree found after a power loss; nil if nothing is.
  func complaint(about found: Listing, mark number: Int, isKill: Bool) -> String? {
    let mark = history.marks[number]
    let names = found.names
    var complaint: String?
    for state in ((isKill ? mark.done : mark.durable)...mark.last).reversed() {
      guard states[state].names == names else { continue }
      guard let wrong = contents(of: found, in: state, mark: number) else { return nil }
      complaint = complaint ?? "as after operation \(state), but \(wrong)"
    }
    let differences = names.differences(from: states[mark.done].names)
    return complaint
      ?? "no state from \(isKill ? mark.done : mark.durable) to \(mark.last) has these names: "
      + "\(differences)"
  }

  /// The first file whose bytes are not of any moment they may be of.
  private func contents(of found: Listing, in state: Int, mark: Int) -> String? {
    for (path, node) in states[state].nodes.sorted(by: { $0.key < $1.key }) {
      guard let content = found.content(of: path) else { continue }
      let framings = history.framings[node] ?? []
      let framed = framings.filter { $0.state <= state && $0.since <= mark }.map(\.state).max()
      let all = versions[node] ?? []
      let first = all.lastIndex { $0.from <= framed ?? 0 } ?? 0
      let possible = all[first...].prefix { $0.from <= state }
      guard !possible.contains(where: { $0.content == content }) else { continue }
      let known = all.filter { $0.content == content }.map(\.from)
      let what = known.isEmpty ? "were never there" : "are of \(known)"
      return "the \(content.size) bytes of \(path) \(what), not of \(possible.map(\.from))"
    }
    return nil
  }
}
