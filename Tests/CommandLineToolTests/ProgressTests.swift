import FuseBridge
import POSIX
import Testing

/// What hangs is told from what is slow. A clock and a count that the test moves.
@Suite struct ProgressTests {
  private final class World: Sendable {
    private let state = Lock((now: UInt64(5000), moves: 0))
    var now: UInt64 { state.withLock { $0.now } }
    var moves: Int { state.withLock { $0.moves } }
    func pass(_ time: UInt64, moving: Bool) {
      state.withLock { state in
        state.now += time
        if moving { state.moves += 1 }
      }
    }
  }

  private let world = World()
  private var progress: Progress {
    Progress(now: { [world] in world.now }) { [world] in world.moves }
  }

  @Test func whatMovesIsWaitedForHoweverLong() {
    var looks = 0
    let isDone = progress.wait(patience: 100) { _ in
      world.pass(90, moving: true)
      looks += 1
      return looks == 50
    }
    #expect(isDone)
  }

  @Test func whatHangsIsGivenUp() {
    let isDone = progress.wait(patience: 100) { _ in
      world.pass(10, moving: false)
      return false
    }
    #expect(!isDone)
    #expect(world.now == 5110)
  }

  /// Three steps in a row wait no longer than one; the last has a little time of its own.
  @Test func stillnessIsCountedThrough() {
    let progress = progress
    for _ in 1...2 {
      _ = progress.wait(patience: 100) { _ in
        world.pass(60, moving: false)
        return false
      }
    }
    #expect(world.now == 5180)
    _ = progress.wait(patience: 100, grace: 40) { _ in
      world.pass(10, moving: false)
      return false
    }
    #expect(world.now == 5230)
  }

  /// A mount may be still for hours before it is locked.
  @Test func whatWasBeforeDoesNotCount() {
    let progress = progress
    world.pass(1_000_000, moving: false)
    progress.restart()
    #expect(progress.stillness == 0)
  }
}
