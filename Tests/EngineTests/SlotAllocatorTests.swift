import POSIX
import Testing

@testable import Engine

@Suite struct SlotAllocatorTests {
  /// Where one page of the map is lost, the others still give room, whichever place was wished for.
  @Test(arguments: [0, 32768, 40000] as [UInt32])
  func aLostPageOfTheMapIsPassedOver(goal: UInt32) throws {
    let allocator = SlotAllocator(limit: 3 * 32768) { (index) throws(EngineError) in
      if index == 1 { throw .damaged("a page of the map") }
      return [UInt64](repeating: index == 0 ? .max : 0, count: 512)
    }
    #expect(try allocator.take(8, near: goal) == 65536..<65544)
    #expect(try allocator.take(8, near: goal) == 65544..<65552)
  }

  /// What may pass by itself is no reason to look elsewhere.
  @Test func aReadThatFailsIsTold() throws {
    let failure = EngineError.noSpace("a test")
    let allocator = SlotAllocator(limit: 3 * 32768) { (_) throws(EngineError) in throw failure }
    #expect(throws: failure) { try allocator.take(8, near: 5) }
  }
}
