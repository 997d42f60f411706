import POSIX
import TestKit
import Testing

@testable import Session

/// The sockets mounts are reached through, with nobody behind them who would answer.
@Suite struct ControlSocketTests {
  private let folder = ScratchDirectory()
  private var path: String { folder.path("00ff.sock") }

  private var isThere: Bool { (try? System.linkStatus(at: path)) != nil }

  private func leaveStale() throws { _ = try System.listen(at: path) }

  @Test func aStaleSocketIsRemovedAndReplaced() throws {
    try leaveStale()
    #expect(ControlClient.look(at: [path]).mounts.isEmpty)
    #expect(!isThere)
    try leaveStale()
    let socket = try ControlSocket.open(vault: "00ff", in: folder.path)
    #expect(socket.path == path)
    #expect(try ControlSocket.open(vault: "00ff", in: folder.path).path != path)
  }

  /// Between bind(2) and listen(2) a socket looks stale.
  @Test func aSocketInTheMakingIsNotRemoved() throws {
    try leaveStale()
    let maker = try FolderLock(folder.path, patience: 0)
    ControlSocket.removeIfStale(path)
    #expect(isThere)
    withExtendedLifetime(maker) {}
  }

  @Test(.timeLimit(.minutes(1))) func aMountThatDoesNotAnswerIsTold() throws {
    let listener = try System.listen(at: path)
    let one = ControlClient.look(at: [path], patience: 50)
    #expect(one.silent.first?.process == System.processNumber && one.mounts.isEmpty)
    #expect(one.silent.first?.identifier == "00ff")
    #expect(one.silent.first?.failure.message.contains(String(System.processNumber)) == true)
    // Nobody accepts, and one day there is no room for another connection.
    for _ in 0..<20 {
      #expect(ControlClient.look(at: [path], patience: 20).silent.count == 1)
    }
    #expect(ControlClient.look(at: [path], patience: 20).silent.first?.process == nil)
    withExtendedLifetime(listener) {}
  }

  /// In /tmp, somebody else may have been first.
  @Test func aFolderThatIsNotPrivateIsNamed() throws {
    let path = folder.path("coffre-1")
    try writeFile(path, [])
    let missing = folder.path("missing/coffre")
    let error = #expect(throws: Failure.self) {
      _ = try RuntimeFolder.make(oneOf: [missing, path])
    }
    #expect(error?.message.contains(path) == true)
    #expect(error?.hint?.contains("XDG_RUNTIME_DIR") == true)
    #expect(try RuntimeFolder.make(oneOf: [path, folder.path("private")]).hasSuffix("private"))
  }
}
