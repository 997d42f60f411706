import Bytes
import POSIX
import TestKit
import Testing

@testable import Volume

/// Which nodes have contents that no frame names.
@Suite struct NodeTableTests {
  private static let targets = 10..<40 as Range<UInt64>

  /// A node that changes while somebody goes through them all is not let go of: at a lock its
  /// contents would be lost without a word.
  @Test func aChangeWhileSomebodyLooksIsKept() throws {
    let table = NodeTable()
    let blocker = try node(5, in: table)
    blocker.state.withLock { $0.written = Clock.realtime }
    table.notePending(blocker)
    let nodes = try Self.targets.map { try node($0, in: table) }
    // All in frames by now, and still on the list.
    for node in nodes { table.notePending(node) }

    let isOpen = Monitor(false)
    let holder = try Thread.start("holder") {
      blocker.state.withLock { _ in isOpen.withLock(when: { $0 }, timeout: nil) { _ in } }
    }
    pause()
    // It has seen some of the nodes when it comes to the one that is held.
    let looker = try Thread.start("looker") { _ = table.pending }
    pause()
    let writer = try Thread.start("writer") {
      for node in nodes {
        node.state.withLock { $0.written = Clock.realtime }
        table.notePending(node)
      }
    }
    pause()
    isOpen.withLock { $0 = true }
    for thread in [holder, looker, writer] { thread.join() }
    #expect(Set(table.pending) == Set(Self.targets).union([5]))
  }

  /// Long enough for a thread to come to where it waits.
  private func pause() {
    Monitor(()).withLock(when: { _ in false }, timeout: 50_000_000) { _ in }
  }

  private func node(_ number: UInt64, in table: NodeTable) throws -> Node {
    table.retain(number)
    return try #require(table.existing(number))
  }
}
