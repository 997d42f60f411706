import Glibc
import POSIX
import TestKit
import Testing

@testable import Session

@Suite struct MountPathTests {
  private func code(_ mountPoint: String, _ vault: String) -> ExitCode? {
    do throws(Failure) {
      _ = try MountPaths.check(mountPoint: mountPoint, vault: vault)
      return nil
    } catch { return error.code }
  }

  @Test func eachWrongMountPointHasItsCode() throws {
    let scratch = ScratchDirectory()
    for name in ["vault", "vault/inner", "mount", "full"] {
      try System.makeDirectory(scratch.path(name), mode: 0o700)
    }
    try writeFile(scratch.path("full/file"), [1])
    let vault = scratch.path("vault")
    #expect(code(scratch.path("mount"), vault) == nil)
    #expect(code(scratch.path("mount/"), vault) == nil)
    #expect(code(scratch.path("absent"), vault) == nil)
    #expect(code(scratch.path("absent/"), vault) == nil)
    #expect(code(scratch.path("absent/deeper"), vault) == .badMountPoint)
    #expect(code(scratch.path("absent/.."), vault) == .badMountPoint)
    #expect(unsafe symlink("nowhere", scratch.path("link")) == 0)
    #expect(code(scratch.path("link"), vault) == .badMountPoint)
    #expect(code(scratch.path("vault/absent"), vault) == .nested)
    #expect(code(scratch.path("full/file"), vault) == .badMountPoint)
    #expect(code(scratch.path("full"), vault) == .badMountPoint)
    #expect(code(vault, vault) == .nested)
    #expect(code(scratch.path("vault/inner"), vault) == .nested)
    #expect(code(scratch.path("mount/../vault/inner"), vault) == .nested)
    #expect(code(scratch.path, vault) == .nested)
    #expect(code("/proc", vault) == .inUse)
  }

  /// Two spellings of a letter are two names, and an accent behind a slash begins one.
  @Test func pathsAreBytes() {
    let (composed, decomposed) = ("/n\u{e9}", "/ne\u{301}")
    #expect(composed == decomposed && !composed.hasSameBytes(as: decomposed))
    #expect(!composed.containsPath(decomposed))
    #expect("/vault".containsPath("/vault/\u{301}x"))
    let scratch = ScratchDirectory()
    let path = scratch.path("\u{301}x")
    #expect(MountPaths.resolved(path).hasSameBytes(as: path))
    #expect("/\u{301}x/".pathParts == ("/", "\u{301}x") && "a/b".pathParts == ("a", "b"))
    #expect("a".pathParts == (".", "a") && "/".pathParts == ("/", ""))
  }
}
