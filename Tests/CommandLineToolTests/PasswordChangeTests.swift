import Bytes
import Crypto
import Disk
import Format
import POSIX
import Session
import TestKit
import Testing

@testable import Vault

@Suite struct PasswordChangeTests {
  private let configured = Configured.shared

  /// Between the two copies the newest is the true one: the old password is an old one then.
  @Test(arguments: copies) func aChangeHalfDoneTakesTheNewPassword(newer: String) throws {
    let next = try configured.changed(to: "the new password")
    let disk = configured.disk
    disk.replace(newer, with: next.page)
    #expect(Outcome(disk, Configured.password) == .failed(.wrongPassword))
    #expect(Outcome(disk, "the new password", healing: true) == .opened(generation: 2))
    for copy in copies { #expect(disk.content(of: copy) == next.page) }
  }

  /// Power loss or a kill after each step: the old password opens or the new one, and what a
  /// person was told is done stays done.
  @Test(arguments: CrashMode.allCases, 0..<8 as Range<UInt64>)
  func theOldOrTheNewConfigurationSurvivesACrash(mode: CrashMode, seed: UInt64) throws {
    let next = try Self.next.get()
    let old = configured.configuration
    var point = 0
    while true {
      let disk = configured.disk
      disk.stopAfter = point
      let isDone = (try? ConfigurationFiles(disk: disk).write(next)) != nil
      let crashed = disk.crashed(seed: seed, mode: mode)
      let found = try ConfigurationFiles(disk: crashed).read()
      #expect(
        !found.copies.isEmpty && found.copies.allSatisfy { $0 == old || $0 == next },
        "mode \(mode) seed \(seed) step \(point)")
      // The next change meets whatever is left, such as `coffre.conf.new`.
      try ConfigurationFiles(disk: crashed).write(next)
      #expect(try ConfigurationFiles(disk: crashed).read().copies == [next])
      if isDone {
        #expect(found.copies == [next] && !found.unequal)
        break
      }
      point += 1
    }
    #expect(point >= 8)
  }

  /// Whoever is told of a failure must know which password to keep.
  @Test func aFailureAfterTheChangeSaysThatTheNewPasswordHolds() throws {
    let folder = ScratchDirectory()
    let files = ConfigurationFiles(disk: try PosixDisk(path: folder.path))
    try files.write(configured.configuration)
    // Nothing can be put in the second copy's place.
    try System.remove(folder.path(Configuration.copyName))
    try System.makeDirectory(folder.path(Configuration.copyName), mode: 0o700)
    let new = "the new password"
    let error = #expect(throws: VaultError.self) {
      _ = try files.changePassword(old: secret(Configured.password), new: secret(new))
    }
    guard let error, case .passwordChanged = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(Outcome(files.disk, new) == .opened(generation: 2))
    #expect(Failure(error, vault: "v").message.contains("the new one holds"))
  }

  private static let next = Result { try Configured.shared.changed(to: "the new password") }
}
