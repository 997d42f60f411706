import Crypto
import POSIX
import TestKit
import Testing
import Volume

@Suite struct ClosingTests {
  /// In a process of its own: others would forget contexts meanwhile.
  @Test func aClosedVolumeLeavesNoKeyInThreadsThatSleep() async {
    await #expect(processExitsWith: .success) {
      let vault = try ScratchVault()
      let volume = try vault.open()
      let planted = PlantedKey(5)
      let sleepers = try Sleepers(count: 2)
      let key = planted.makeKey()
      let secret = try OwnMemory.occurrences(of: planted)
      #expect(sleepers.use(key))
      #expect(try OwnMemory.occurrences(of: planted) == secret + 4)
      try volume.close()
      #expect(try OwnMemory.occurrences(of: planted) == secret)
      sleepers.end()
      withExtendedLifetime(key) {}
    }
  }
}
