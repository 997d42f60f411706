import TestKit

/// What a scenario did to the tree, and when what became durable.
///
/// States are numbered: state n is the tree after n operations. A call that did not return yet, or
/// failed, may have brought its state about or not.
struct CrashHistory {
  /// What is certain at one moment.
  struct Mark {
    /// The state every answered call has come to. A kill loses no name and no attribute.
    let done: Int
    /// The last state there can be.
    let last: Int
    /// The state a power loss leaves at least.
    let durable: Int
  }

  /// Contents of a file were put into a frame: who sees `state` sees them, or newer ones.
  struct Framing {
    let state: Int
    /// The first mark for which this holds.
    let since: Int
  }

  private(set) var states = [ModelVolume()]
  private(set) var marks = [Mark(done: 0, last: 0, durable: 0)]
  private(set) var framings: [Int: [Framing]] = [:]

  private var last: Int { states.count - 1 }
  private var durable: Int { marks[marks.count - 1].durable }
  var mark: Int { marks.count - 1 }
  var tree: ModelVolume { states[last] }

  /// A call begins that leads to another state.
  mutating func begin(_ next: ModelVolume) {
    states.append(next)
    marks.append(Mark(done: last - 1, last: last, durable: durable))
  }

  /// The call has returned. `framed` are files whose contents the new state has for certain.
  mutating func finish(framed: [Int], isDurable: Bool) {
    for file in framed { framings[file, default: []].append(Framing(state: last, since: 0)) }
    marks.append(Mark(done: last, last: last, durable: isDurable ? last : durable))
  }

  /// The call was refused: its state is the one before.
  mutating func refuse() {
    states[last] = states[last - 1]
    marks.append(Mark(done: last, last: last, durable: durable))
  }

  /// A call failed half-way, and the volume is read-only now: a sync of a file that succeeds all
  /// the same has told the truth.
  mutating func syncedAfterFailure(_ file: Int) {
    let mark = marks[self.mark]
    marks.append(Mark(done: mark.done, last: mark.last, durable: mark.done))
    framings[file, default: []].append(Framing(state: mark.done, since: self.mark))
  }
}
