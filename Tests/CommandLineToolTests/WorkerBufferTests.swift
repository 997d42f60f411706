import Bytes
import Glibc
import TestKit
import Testing

@testable import FuseBridge

/// A worker's buffers hold plaintext of one inode at a time.
@Suite struct WorkerBufferTests {
  private static let size = 1 << 16

  @Test func whatWasReadIsWipedBeforeTheNextInode() {
    let worker = Worker()
    worker.turn(to: 7, 40)
    let buffer = worker.buffer(4096)
    buffer.store([1, 2, 3], at: 0)
    buffer.store([4], at: 4095)
    worker.turn(to: 7, 40)
    #expect(!buffer.isZero(0..<4096), "the same inode goes on")
    _ = worker.buffer(1)
    worker.turn(to: 8, 40)
    #expect(buffer.isZero(0..<4096))
  }

  @Test func whatWasWrittenIsWipedBehindTheNextRequest() {
    let worker = Worker()
    // Freed by the worker.
    guard let memory = unsafe malloc(Self.size) else { return }
    unsafe memset(memory, 0x5a, Self.size)
    unsafe worker.requestMemory = memory
    worker.turn(to: 7, Self.size)
    worker.turn(to: 7, 100)
    #expect(unsafe memory.load(fromByteOffset: 100, as: UInt8.self) == 0x5a)
    worker.turn(to: 8, 50)
    let rest = unsafe UnsafeRawBufferPointer(start: memory + 50, count: Self.size - 50)
    #expect(unsafe rest.allSatisfy { $0 == 0 }, "all that the largest request has left")
    #expect(unsafe memory.load(fromByteOffset: 49, as: UInt8.self) == 0x5a, "but the new one")
    withExtendedLifetime(worker) {}
  }
}
