import Bytes
import Crypto
import Engine
import Format
import POSIX

/// Threads that read chunks and authenticate them, so that the disk and every core have work.
final class ChunkChecker: Sendable {
  /// Chunks of one file, from one on.
  struct Piece: Sendable {
    let inode: UInt64
    let keys: FileKeys
    let chunk: UInt64
    let references: [Reference]
  }

  /// One that is not what its reference says.
  struct Suspect: Sendable {
    let inode: UInt64
    let chunk: UInt64
  }

  private struct State {
    var jobs: [[Piece]] = []
    var isOver = false
    var running = 0
    var suspects: [Suspect] = []
    var checked: UInt64 = 0
  }

  /// Chunks of one job: 1 MiB.
  static let jobChunks = 256
  private static let runChunks = 64
  private static let waitingJobs = 8
  private let data: DataSpace
  private let state = Monitor(State())

  init(_ data: DataSpace) { self.data = data }

  /// Starts the threads, as many as there are; none at all is an error.
  func start(_ count: Int) throws(EngineError) {
    for _ in 0..<count {
      state.withLock { $0.running += 1 }
      do { try Thread.start("coffre-verify") { [self] in work() } } catch {
        state.withLock { $0.running -= 1 }
        if state.withLock({ $0.running }) == 0 { throw .posix(error) }
        return
      }
    }
  }

  /// Gives a job to the threads, as soon as one is near the end of its own.
  func submit(_ job: [Piece]) {
    state.withLock(when: { $0.jobs.count < Self.waitingJobs }, timeout: nil) {
      $0.jobs.append(job)
    }
  }

  /// Chunks looked at so far.
  var checked: UInt64 { state.withLock { $0.checked } }

  /// What was suspicious since the last time this was asked.
  func takeSuspects() -> [Suspect] {
    state.withLock { state in
      defer { state.suspects = [] }
      return state.suspects
    }
  }

  /// Waits a moment for everything to be done; true when it is.
  func isDone(within nanoseconds: UInt64) -> Bool {
    state.withLock { $0.isOver = true }
    return state.withLock(when: { $0.running == 0 }, timeout: nanoseconds) { $0.running == 0 }
  }

  /// Drops what is waiting, and returns when the threads are gone: no key is in use after.
  func abandon() {
    state.withLock { state in
      state.jobs = []
      state.isOver = true
    }
    state.withLock(when: { $0.running == 0 }, timeout: nil) { _ in }
  }

  private func work() {
    let sealed = Buffer(count: Self.runChunks * Layout.chunkSize)
    let plain = Buffer(count: Layout.chunkSize)
    while true {
      let job = state.withLock(when: { !$0.jobs.isEmpty || $0.isOver }, timeout: nil) { state in
        state.jobs.isEmpty ? nil : state.jobs.removeFirst()
      }
      guard let job else { break }
      var bad: [Suspect] = []
      var count = 0
      for piece in job {
        count += piece.references.count { !$0.isHole }
        check(piece, sealed, plain, &bad)
      }
      state.withLock { state in
        state.suspects += bad
        state.checked += UInt64(count)
      }
    }
    state.withLock { $0.running -= 1 }
  }

  private func check(
    _ piece: Piece, _ sealed: Buffer, _ plain: Buffer, _ bad: inout [Suspect]
  ) {
    var start = 0
    while start < piece.references.count {
      let first = piece.references[start].slot
      var end = start + 1
      while end < piece.references.count, end - start < Self.runChunks,
        case let next = piece.references[end].slot, next == first &+ UInt32(end - start),
        next % Layout.slotsPerContainer != 0
      { end += 1 }
      if first != 0 { checkRun(piece, start..<end, sealed, plain, &bad) }
      start = first == 0 ? start + 1 : end
    }
  }

  /// Chunks in consecutive slots of one container.
  private func checkRun(
    _ piece: Piece, _ run: Range<Int>, _ sealed: Buffer, _ plain: Buffer, _ bad: inout [Suspect]
  ) {
    let first = piece.references[run.lowerBound].slot
    let isRead = (try? data.read(first..<(first + UInt32(run.count)), into: sealed, at: 0)) != nil
    for index in run {
      let chunk = piece.chunk + UInt64(index)
      let place = (index - run.lowerBound) * Layout.chunkSize
      let slot = piece.references[index].slot
      let isThere = isRead || (try? data.read(slot..<(slot + 1), into: sealed, at: place)) != nil
      var target = plain.mutableBytes(in: 0..<Layout.chunkSize)
      let isTrue =
        isThere
        && piece.keys.open(
          sealed, place..<(place + Layout.chunkSize), into: &target, piece.references[index],
          chunkContext(piece.inode, chunk))
      if !isTrue { bad.append(Suspect(inode: piece.inode, chunk: chunk)) }
    }
  }
}
