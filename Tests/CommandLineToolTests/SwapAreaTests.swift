import POSIX
import TestKit
import Testing

@testable import Session

/// Whether swap is readable without a key, by a copy of /sys that the test makes.
@Suite struct SwapAreaTests {
  private let folder = ScratchDirectory()

  private func areas() -> SwapAreas {
    var areas = SwapAreas()
    areas.system = folder.path
    return areas
  }

  private func makeFolders(_ path: String) throws {
    var whole = folder.path
    for part in path.parts(between: "/") {
      whole += "/" + part
      do throws(Errno) { try System.makeDirectory(whole, mode: 0o700) } catch {
        guard error == .exists else { throw error }
      }
    }
  }

  private func make(_ name: String, mapped uuid: String? = nil, of parts: [String]) throws {
    try makeFolders("class/block/\(name)/slaves")
    if let uuid {
      try makeFolders("class/block/\(name)/dm")
      try writeFile(folder.path("class/block/\(name)/dm/uuid"), Array(uuid.utf8))
    }
    for part in parts { try makeFolders("class/block/\(name)/slaves/\(part)") }
  }

  /// As Debian's installer makes it.
  @Test func aLogicalVolumeOfAnEncryptedPartitionIsClosed() throws {
    try makeFolders("class/block/sda5")
    try make("dm-0", mapped: "CRYPT-LUKS2-00ff-sda5_crypt", of: ["sda5"])
    try make("dm-2", mapped: "LVM-abc", of: ["dm-0"])
    #expect(areas().kind(ofDevice: "dm-2") == .closed)
    #expect(areas().kind(ofDevice: "dm-0") == .closed)
    #expect(areas().kind(ofDevice: "zram0") == .closed)
  }

  @Test func onePlainPartIsEnough() throws {
    try makeFolders("class/block/sda5")
    try makeFolders("class/block/sdb")
    try make("dm-0", mapped: "CRYPT-PLAIN-x", of: ["sda5"])
    try make("dm-2", mapped: "LVM-abc", of: ["dm-0", "sdb"])
    #expect(areas().kind(ofDevice: "sda5") == .open)
    #expect(areas().kind(ofDevice: "dm-2") == .open)
  }

  @Test func whatIsNotKnownIsSaidSo() throws {
    #expect(areas().kind(ofDevice: "nothing") == .unknown)
    #expect(areas().name(of: 0x1234) == nil)
    try make("loop0", of: [])
    #expect(areas().kind(ofDevice: "loop0") == .unknown)
  }

  /// A swap file is as open as what it lies on.
  @Test func aFileCountsAsItsDevice() throws {
    let device = try System.status(at: folder.path).device
    let major = (device >> 8) & 0xfff | (device >> 32) & ~0xfff
    let minor = device & 0xff | (device >> 12) & 0xffff_ff00
    try makeFolders("dev/block/\(major):\(minor)")
    #expect(areas().name(of: device) == "\(major):\(minor)")
    try writeFile(folder.path("swapfile"), [])
    try writeFile(
      folder.path("swaps"), Array("Filename\tType\n\(folder.path)/swapfile file\n".utf8))
    var areas = areas()
    areas.list = folder.path("swaps")
    #expect(areas.warning?.contains("may not be encrypted") == true)
    try make("\(major):\(minor)", mapped: "CRYPT-LUKS2-1", of: [])
    #expect(areas.warning == nil)
    try writeFile(folder.path("class/block/\(major):\(minor)/dm/uuid"), Array("LVM-1".utf8))
    #expect(areas.warning?.contains("not encrypted") == true)
  }
}
