import Bytes
import Testing

/// Access past a buffer must stop the program before a byte is touched.
@Suite struct BufferTrapTests {
  @Test func aNegativeSizeTraps() async {
    await #expect(processExitsWith: .failure) { _ = Buffer(count: -1) }
  }

  @Test func aLoadPastTheEndTraps() async {
    await #expect(processExitsWith: .failure) {
      _ = Buffer(count: 8).load(UInt64.self, at: 1)
    }
  }

  @Test func aLoadBeforeTheStartTraps() async {
    await #expect(processExitsWith: .failure) {
      _ = Buffer(count: 8).load(UInt8.self, at: -1)
    }
  }

  @Test func aLoadAtTheLargestOffsetTraps() async {
    await #expect(processExitsWith: .failure) {
      _ = Buffer(count: 8).load(UInt64.self, at: Int.max)
    }
  }

  @Test func aStorePastTheEndTraps() async {
    await #expect(processExitsWith: .failure) { Buffer(count: 8).store(1 as UInt16, at: 7) }
  }

  @Test func storingBytesPastTheEndTraps() async {
    await #expect(processExitsWith: .failure) { Buffer(count: 2).store([1, 2], at: 1) }
  }

  @Test func storingASpanPastTheEndTraps() async {
    await #expect(processExitsWith: .failure) {
      let source = Buffer(count: 2)
      Buffer(count: 2).store(source.bytes, at: 1)
    }
  }

  @Test func aCopyPastTheSourceTraps() async {
    await #expect(processExitsWith: .failure) {
      Buffer(count: 100).copy(from: Buffer(count: 2), 0..<3, to: 0)
    }
  }

  @Test func aCopyPastTheTargetTraps() async {
    await #expect(processExitsWith: .failure) {
      Buffer(count: 2).copy(from: Buffer(count: 100), 0..<3, to: 0)
    }
  }

  @Test func aSpanPastTheEndTraps() async {
    await #expect(processExitsWith: .failure) {
      _ = Buffer(count: 2).bytes(in: 1..<3).byteCount
    }
  }

  @Test func aWritableSpanPastTheEndTraps() async {
    await #expect(processExitsWith: .failure) {
      _ = Buffer(count: 2).mutableBytes(in: 1..<3).byteCount
    }
  }

  @Test func clearingPastTheEndTraps() async {
    await #expect(processExitsWith: .failure) { Buffer(count: 2).zero(0..<3) }
  }

  @Test func clearingASpanPastItsEndTraps() async {
    await #expect(processExitsWith: .failure) {
      let buffer = Buffer(count: 8)
      var span = buffer.mutableBytes(in: 0..<4)
      span.zero(0..<5)
    }
  }

  @Test func readingARangePastTheBufferTraps() async {
    await #expect(processExitsWith: .failure) {
      _ = ByteReader(Buffer(count: 2), in: 0..<3)
    }
  }

  @Test func patchingWhatWasNotWrittenTraps() async {
    await #expect(processExitsWith: .failure) {
      var writer = ByteWriter()
      writer.integer(1 as UInt8)
      writer.patch(1 as UInt16, at: 0)
    }
  }
}
