import Bytes
import Glibc
import TestKit
import Testing

@testable import POSIX

/// Interrupted and short calls are gone on with; anything else reaches the caller.
@Suite struct TransferTests {
  /// Plays answers of a call, an error number as a negative one; where each began.
  private func play(_ answers: [Int], count: Int) -> (moved: Int?, failure: Errno?, starts: [Int]) {
    var (rest, starts) = (answers[...], [Int]())
    do throws(Errno) {
      let moved = try System.transfer(count) { done in
        starts.append(done)
        guard let answer = rest.popFirst() else { return 0 }
        if answer < 0 { errno = Int32(-answer) }
        return answer < 0 ? -1 : answer
      }
      return (moved, nil, starts)
    } catch { return (nil, error, starts) }
  }

  @Test func shortAndInterruptedCallsGoOn() {
    let interrupted = -Int(EINTR)
    let whole = play([interrupted, 3, interrupted, interrupted, 1, 6], count: 10)
    #expect(whole.moved == 10)
    #expect(whole.starts == [0, 0, 3, 3, 3, 4])
    let ended = play([4, 0], count: 10)
    #expect(ended.moved == 4)
    for number in [ENOSPC, EIO, EDQUOT] {
      let failed = play([4, interrupted, -Int(number), 6], count: 10)
      #expect(failed.failure == Errno(rawValue: number))
      #expect(failed.starts == [0, 4, 4])
    }
    #expect(play([], count: 0).starts == [])
  }

  /// A limit on the size of files makes a write short, and then refuses it: with a number, not with
  /// the end of the process.
  @Test func aLimitOnSizesIsTold() async {
    await #expect(processExitsWith: .success) {
      try System.settle()
      let folder = ScratchDirectory()
      let file = try System.open(folder.path("file"), [.readWrite, .create])
      var limit = rlimit()
      let sizes = __rlimit_resource_t(RLIMIT_FSIZE.rawValue)
      precondition(unsafe getrlimit(sizes, &limit) == 0)
      limit.rlim_cur = 6000
      precondition(unsafe setrlimit(sizes, &limit) == 0)
      var failure: Errno?
      do throws(Errno) { try System.write(file, Buffer(count: 10_000).bytes, at: 0) } catch {
        failure = error
      }
      precondition(failure == .fileTooLarge)
      let size = try System.status(of: file).size
      precondition(size == 6000)
      withExtendedLifetime(folder) {}
    }
  }

  /// Signals without SA_RESTART come while a pipe is read that is empty at first.
  @Test func signalsDoNotEndAReading() async {
    await #expect(processExitsWith: .success) {
      var action = sigaction()
      unsafe action.__sigaction_handler.sa_handler = { _ in }
      precondition(unsafe sigaction(SIGALRM, &action, nil) == 0)
      var often = itimerval(
        it_interval: timeval(tv_sec: 0, tv_usec: 2000), it_value: timeval(tv_sec: 0, tv_usec: 2000))
      let pipe = try Pipe()
      let writing = pipe.writing.rawValue
      try POSIX.Thread.start("later") {
        Clock.sleep(nanoseconds: 100_000_000)
        var byte: UInt8 = 7
        _ = unsafe write(writing, &byte, 1)
      }
      let real: Int32 = 0  // ITIMER_REAL
      precondition(unsafe setitimer(real, &often, nil) == 0)
      let buffer = Buffer(count: 4)
      var span = buffer.mutableBytes(in: 0..<4)
      let count = try System.receive(pipe.reading, into: &span)
      precondition(count == 1)
      precondition(buffer.load(UInt8.self, at: 0) == 7)
    }
  }
}
