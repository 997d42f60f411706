internal import CFuse3
internal import POSIX
internal import Volume

/// Names to inodes, and back to nothing.
extension Bridge {
  func lookup(_ name: Name, in parent: InodeNumber, _ reply: consuming Reply) {
    do throws(VolumeError) {
      try admit(.start)
      let attributes = try volume.lookup(FileName(name), in: parent)
      answer(reply, entry: attributes)
    } catch {
      guard error == .system(.noSuchFile) else { return reply.error(error.errno) }
      lookupTag(name, in: parent, reply)
    }
  }

  func forget(_ inode: InodeNumber, count: UInt64, _ reply: consuming Reply) {
    forget(inode, count)
    reply.none()
  }

  func forget(_ list: UnsafeBufferPointer<fuse_forget_data>, _ reply: consuming Reply) {
    for index in list.indices {
      let item = unsafe list[index]
      forget(InodeNumber(rawValue: item.ino), item.nlookup)
    }
    reply.none()
  }

  func readlink(_ inode: InodeNumber, _ reply: consuming Reply) {
    do throws(VolumeError) {
      try admit(.start)
      reply.link(try volume.symlinkTarget(of: inode))
    } catch {
      reply.error(error.errno)
    }
  }
}
