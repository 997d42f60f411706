internal import Glibc
internal import POSIX
internal import Volume

/// Names that go or change: unlink(2), rmdir(2), renameat2(2).
extension Bridge {
  func unlink(_ name: Name, in parent: InodeNumber, _ reply: consuming Reply) {
    do throws(VolumeError) {
      try admit(.start)
      try volume.unlink(FileName(name), in: parent)
      giveUp(name, in: parent)
      reply.done()
    } catch {
      let isTag = error == .system(.noSuchFile) && giveUp(name, in: parent)
      if isTag { reply.done() } else { reply.error(error.errno) }
    }
  }

  func rmdir(_ name: Name, in parent: InodeNumber, _ reply: consuming Reply) {
    do throws(VolumeError) {
      try admit(.start)
      try volume.removeDirectory(FileName(name), in: parent)
      giveUp(name, in: parent)
      reply.done()
    } catch {
      reply.error(error.errno)
    }
  }

  func rename(
    _ name: Name, in parent: InodeNumber, to newName: Name, in newParent: InodeNumber,
    _ flags: UInt32, _ reply: consuming Reply
  ) {
    do throws(VolumeError) {
      try admit(.start)
      guard let mode = RenameMode(flags: flags) else { throw .system(.invalid) }
      try volume.rename(
        FileName(name), in: parent, to: FileName(newName), in: newParent, mode)
      giveUp(name, in: parent)
      reply.done()
    } catch {
      // A program that gets this copies instead.
      let isExchange = RenameMode(flags: flags) == .exchange
      let isTag =
        marker.tag(name, in: parent) != nil
        || isExchange && marker.tag(newName, in: newParent) != nil
      reply.error(isTag && error == .system(.noSuchFile) ? .crossDevice : error.errno)
    }
  }
}

extension RenameMode {
  /// RENAME_NOREPLACE and RENAME_EXCHANGE of renameat2(2). RENAME_WHITEOUT is refused, as the page
  /// says a filesystem without it does.
  init?(flags: UInt32) {
    switch flags {
    case 0: self = .replace
    case 1: self = .noReplace
    case 2: self = .exchange
    default: return nil
    }
  }
}
