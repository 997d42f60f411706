import POSIX
import TestKit
import Testing

/// The model that Coffre is compared with is itself compared with a filesystem of the kernel.
@Suite struct ModelAgainstKernelTests {
  /// tmpfs, which takes attributes of any size; other filesystems have limits of their own.
  static let folder = "/dev/shm"

  private static var canCompare: Bool {
    guard (try? System.open(folder, [.directory]).rawValue) != nil else { return false }
    let scratch = ScratchDirectory(in: folder)
    return withExtendedLifetime(scratch) { DirectoryDriver(scratch.path).takesAttributes }
  }

  @Test(
    .enabled(if: canCompare, "no tmpfs that takes attributes"),
    arguments: 0..<12 as Range<UInt64>)
  func agrees(seed: UInt64) throws {
    let scratch = ScratchDirectory(in: Self.folder)
    defer { withExtendedLifetime(scratch) {} }
    let driver = DirectoryDriver(scratch.path)
    var model = ModelVolume()
    var generator = OperationGenerator(seed: seed, largest: 40 * 4096)
    var done = 0
    for step in 0..<600 {
      // Some on what is there, some on anything.
      let operation = step % 4 == 0 ? generator.next() : generator.next(in: model)
      guard operation.isAlike(in: model) else { continue }
      let expected = model.apply(operation)
      let found = driver.apply(operation)
      #expect(found == expected, "seed \(seed) step \(step): \(operation)")
      if found != expected { return }
      done += found == nil ? 1 : 0
      guard step % 100 == 99 else { continue }
      let (mine, theirs) = (model.listing, try driver.listing())
      #expect(mine == theirs, "seed \(seed) step \(step): \(mine.differences(from: theirs))")
    }
    #expect(done > 200, "most operations are to do something")
  }
}
