import Disk
import Glibc
import POSIX
import TestKit
import Testing

/// What another program may have put into the vault's folder to lead Coffre elsewhere.
@Suite struct PosixDiskTests {
  private func make() throws -> (folder: ScratchDirectory, disk: PosixDisk) {
    let folder = ScratchDirectory()
    return (folder, try PosixDisk(path: folder.path))
  }

  @Test(.timeLimit(.minutes(1)))
  func aFifoIsRefusedWithoutWaiting() throws {
    let (folder, disk) = try make()
    #expect(unsafe mkfifo(folder.path("object"), 0o600) == 0)
    // EINVAL for what is not regular; the lone writer gets ENXIO from the kernel, not from us.
    #expect(disk.openFailure("object", writable: false) == .invalid)
    #expect(disk.openFailure("object", writable: true) == .invalid)
    #expect(disk.createFailure("object") == .exists)
  }

  /// Freeing much on a slow disk takes long, and is no disk that hangs.
  @Test func eachCallOnAFileIsASignOfLife() throws {
    let (folder, disk) = try make()
    let file = try disk.create("object")
    var before = disk.finishedCalls
    func expectOneMore(_ what: String) {
      #expect(disk.finishedCalls == before + 1, "\(what)")
      before = disk.finishedCalls
    }
    try file.put([1, 2, 3], at: 0)
    expectOneMore("write")
    try file.sync()
    expectOneMore("sync")
    try? file.allocate(0..<8192)
    expectOneMore("allocate")
    _ = try? file.punch(0..<4096)
    expectOneMore("punch")
    try file.resize(0)
    expectOneMore("resize")
    withExtendedLifetime(folder) {}
  }

  @Test func aLinkIsNotFollowed() throws {
    let (folder, disk) = try make()
    try disk.create("target").put([1], at: 0)
    #expect(unsafe symlink(folder.path("target"), folder.path("object")) == 0)
    #expect(disk.openFailure("object", writable: false) == .loop)
    #expect(disk.openFailure("object", writable: true) == .loop)
    #expect(disk.createFailure("object") == .exists)
  }

  @Test func aDirectoryIsRefused() throws {
    let (folder, disk) = try make()
    #expect(unsafe mkdir(folder.path("object"), 0o700) == 0)
    #expect(disk.openFailure("object", writable: false) == .invalid)
    #expect(disk.openFailure("object", writable: true) == .isDirectory)
  }

  /// Two objects in one file would overwrite each other, or a backup made of links.
  @Test func aFileWithASecondNameIsReadAndNotWrittenTo() throws {
    let (folder, disk) = try make()
    try disk.create("object").put([1], at: 0)
    #expect(unsafe link(folder.path("object"), folder.path("second")) == 0)
    #expect(disk.openFailure("object", writable: true) == .tooManyLinks)
    #expect(try disk.open("object", writable: false).get(9, at: 0) == [1])
    try disk.remove("second")
    try disk.open("object", writable: true).put([2], at: 0)
  }

  @Test func whatIsInAnObjectsPlaceIsNamed() throws {
    let (folder, disk) = try make()
    try disk.createFolder("data")
    #expect(unsafe symlink("elsewhere", folder.path("data/link")) == 0)
    let error = #expect(throws: DiskError.self) {
      _ = try disk.open("data/link", writable: false)
    }
    #expect(error?.displaced == "data/link (a symbolic link is in its place)")
    // Nothing there is another matter, and so is a full disk.
    let missing = #expect(throws: DiskError.self) { _ = try disk.open("gone", writable: false) }
    #expect(missing?.displaced == nil)
    #expect(DiskError(errno: .invalid, operation: "pwrite", object: "x").displaced == nil)
  }

  @Test func aFolderThatIsALinkIsRefused() throws {
    let (folder, disk) = try make()
    let elsewhere = ScratchDirectory()
    let other = try PosixDisk(path: elsewhere.path)
    try other.create("object").put([1], at: 0)
    #expect(unsafe symlink(elsewhere.path, folder.path("data")) == 0)
    #expect(disk.openFailure("data/object", writable: false) == .notDirectory)
    #expect(disk.createFailure("data/new") == .notDirectory)
    #expect(failure { () throws(DiskError) in _ = try disk.list("data") } == .notDirectory)
    #expect(failure { () throws(DiskError) in try disk.syncFolder("data") } == .notDirectory)
    #expect(failure { () throws(DiskError) in try disk.createFolder("data") } == .notDirectory)
    #expect(failure { () throws(DiskError) in try disk.remove("data/object") } == .notDirectory)
    #expect(try other.list("") == ["object"])
  }

  @Test func nobodyElseMayReadWhatIsMade() throws {
    let (folder, disk) = try make()
    try disk.createFolder("data")
    _ = try disk.create("data/object")
    #expect(try System.status(at: folder.path("data")).mode & 0o777 == 0o700)
    #expect(try System.status(at: folder.path("data/object")).mode & 0o777 == 0o600)
  }

  @Test func aFolderThatIsMissingIsReported() {
    let error = #expect(throws: DiskError.self) { _ = try PosixDisk(path: "/nowhere/at/all") }
    #expect(error?.errno == .noSuchFile)
  }

  @Test func oneWriterLocksTheOthersOut() throws {
    let (folder, disk) = try make()
    let other = try PosixDisk(path: folder.path)
    do {
      let held = try disk.lock(exclusive: true)
      let error = #expect(throws: DiskError.self) { _ = try other.lock(exclusive: true) }
      #expect(error?.errno == .tryAgain)
      let reader = #expect(throws: DiskError.self) { _ = try other.lock(exclusive: false) }
      #expect(reader?.errno == .tryAgain)
      withExtendedLifetime(held) {}
    }
    let one = try disk.lock(exclusive: false)
    let two = try other.lock(exclusive: false)
    #expect(throws: DiskError.self) { _ = try other.lock(exclusive: true) }
    withExtendedLifetime((one, two)) {}
  }

  @Test func aLockThatIsNoFileIsRefused() throws {
    let (folder, disk) = try make()
    #expect(unsafe mkfifo(folder.path("lock"), 0o600) == 0)
    #expect(failure { () throws(DiskError) in _ = try disk.lock(exclusive: true) } == .invalid)
    #expect(unsafe unlink(folder.path("lock")) == 0)
    #expect(unsafe symlink("elsewhere", folder.path("lock")) == 0)
    #expect(failure { () throws(DiskError) in _ = try disk.lock(exclusive: true) } == .loop)
    #expect(try disk.list("") == ["lock"], "nothing is made where the link leads")
  }

  @Test func aDeviceIsRefused() throws {
    let (folder, disk) = try make()
    // Only root can make one; an unwritable /tmp/null for everybody else proves nothing.
    guard unsafe mknod(folder.path("object"), S_IFCHR | 0o600, 0x103) == 0 else { return }
    #expect([.invalid, .accessDenied].contains(disk.openFailure("object", writable: true)))
  }

  @Test func aNameThatLeavesTheVaultIsAMistakeOfOurs() async {
    await #expect(processExitsWith: .failure) {
      _ = try PosixDisk(path: "/tmp").open("..", writable: false)
    }
    await #expect(processExitsWith: .failure) {
      _ = try PosixDisk(path: "/tmp").open("a/b/c", writable: false)
    }
    await #expect(processExitsWith: .failure) {
      _ = try PosixDisk(path: "/tmp").open("../object", writable: false)
    }
    await #expect(processExitsWith: .failure) {
      _ = try PosixDisk(path: "/tmp").list("/")
    }
  }
}
