import Testing

@testable import Session

/// `-o` takes what people write for other filesystems.
@Suite struct MountOptionTests {
  private func take(_ options: String...) throws(Failure) -> MountSettings {
    var settings = MountSettings(vault: "/vault", mountPoint: "/mount")
    try settings.take(options)
    return settings
  }

  @Test func whatIsSoAnywayIsTaken() throws {
    let settings = try take(
      "defaults", "relatime", "nodiratime", "lazytime", "diratime", "async", "noauto", "user",
      "nofail", "_netdev", "x-systemd.automount", "x-gvfs-name=Letters", "comment=mine", "rw")
    #expect(settings == MountSettings(vault: "/vault", mountPoint: "/mount"))
  }

  @Test func theRestGoesOn() throws {
    let settings = try take("ro", "noexec", "noatime", "dev", "allow_other", "fsname=letters")
    #expect(settings.readOnly && settings.allowOther)
    #expect(settings.extra == ["noexec", "noatime", "dev", "fsname=letters"])
  }

  @Test func theGuardIsNotForTheKernel() throws {
    #expect(try take().isGuarded && take("noguard", "guard").isGuarded)
    let settings = try take("noguard")
    #expect(!settings.isGuarded && settings.extra == [])
    #expect(MountSettings(settings.message(passwordCount: 1)) == settings)
  }

  @Test func theMarkerIsNotForTheKernel() throws {
    #expect(try take().isMarked && take("nobackupmarker", "backupmarker").isMarked)
    let settings = try take("nobackupmarker")
    #expect(!settings.isMarked && settings.isGuarded && settings.extra == [])
    #expect(MountSettings(settings.message(passwordCount: 1)) == settings)
  }

  @Test func theLastOfTwoCounts() throws {
    #expect(try !take("ro", "rw").readOnly)
    #expect(try take("rw", "ro").readOnly)
    #expect(try take("dev", "suid", "nodev", "nosuid").extra == [])
    #expect(try take("nodev", "dev").extra == ["dev"])
  }

  @Test(
    arguments: [
      "strictatime", "remount", "bind", "relatim", "ro=1", "fsname", "debug", "x", "=", "",
      "password_file=/key",
    ])
  func whatCannotBeHadIsNamed(option: String) throws {
    let error = #expect(throws: Failure.self) { try take("defaults", option) }
    #expect(error?.code == .usage)
    #expect(error?.message.contains("option \(option) ") == true)
  }
}
