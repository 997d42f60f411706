import POSIX
import TestKit
import Testing

/// A mount does what a plain folder of the host does, error numbers included.
@Suite(.serialized, .enabled(if: Command.canMount, "no /dev/fuse, fusermount3 or built command"))
struct HostTests {
  /// tmpfs if it will do, for its attributes have no limit.
  private func hostFolder() -> (folder: ScratchDirectory, takesAttributes: Bool) {
    if (try? System.open("/dev/shm", [.directory]).rawValue) != nil {
      let folder = ScratchDirectory(in: "/dev/shm")
      if DirectoryDriver(folder.path).takesAttributes { return (folder, true) }
    }
    return (ScratchDirectory(), false)
  }

  @Test(arguments: 0..<6 as Range<UInt64>)
  func agreesWithTheHost(seed: UInt64) throws {
    // A plain folder has no marker for backup programs.
    let vault = try Mounted(mounting: false)
    try vault.open(["-o", "nobackupmarker"])
    let (folder, takesAttributes) = hostFolder()
    let (mount, host) = (DirectoryDriver(vault.mount), DirectoryDriver(folder.path))
    // The model only lets the generator aim at what is there.
    var model = ModelVolume()
    var generator = OperationGenerator(seed: seed)
    var done = 0
    for step in 0..<500 {
      let operation = generator.next(in: model)
      if operation.isOfAttributes && !takesAttributes { continue }
      let expected = host.apply(operation)
      let found = mount.apply(operation)
      #expect(found == expected, "seed \(seed) step \(step): \(operation)")
      if found != expected { return }
      if expected == nil {
        model.apply(operation)
        done += 1
      }
      if step % 100 == 99 { try expectSame(mount, host, "seed \(seed) step \(step)") }
    }
    #expect(done > 200, "most operations are to do something")
    try vault.lock()
    try vault.open(["-o", "nobackupmarker"])
    try expectSame(mount, host, "seed \(seed) opened again")
    withExtendedLifetime(folder) {}
  }

  private func expectSame(
    _ mount: DirectoryDriver, _ host: DirectoryDriver, _ what: String
  ) throws {
    let (found, expected) = (try mount.listing(), try host.listing())
    #expect(found == expected, "\(what): \(found.differences(from: expected))")
  }
}
