import Crypto
import POSIX
import TestKit
import Testing
import Volume

@Suite struct ClosingTests {
  /// Requests that were under way while the vault was locked may come that late.
  @Test func aClosedVolumeRefusesInsteadOfMissingItsKeys() async {
    await #expect(processExitsWith: .success) {
      let vault = try ScratchVault()
      let volume = try vault.open()
      let file = try volume.makeNode(
        FileName("file"), in: .root, mode: 0o100644, device: 0, by: vault.owner)
      try volume.put(file.inode, [1, 2, 3])
      try volume.close()
      #expect(throws: VolumeError.locked) { try volume.text(file.inode) }
      #expect(throws: VolumeError.locked) { try volume.put(file.inode, [4]) }
      #expect(throws: VolumeError.locked) {
        try volume.unlink(FileName("file"), in: .root)
      }
    }
  }

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
