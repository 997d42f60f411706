internal import Glibc
internal import POSIX
internal import Volume

/// New names: mknod(2), mkdir(2), symlink(2), link(2), and open(2) with O_CREAT.
extension Bridge {
  func mknod(
    _ name: Name, in parent: InodeNumber, _ mode: mode_t, _ device: dev_t, _ caller: Caller,
    _ reply: consuming Reply
  ) {
    do throws(VolumeError) {
      try admit(.start)
      let attributes = try volume.makeNode(
        FileName(name), in: parent, mode: mode, device: UInt64(device), by: caller)
      answer(reply, entry: attributes)
    } catch {
      reply.error(error.errno)
    }
  }

  func mkdir(
    _ name: Name, in parent: InodeNumber, _ mode: mode_t, _ caller: Caller,
    _ reply: consuming Reply
  ) {
    do throws(VolumeError) {
      try admit(.start)
      let attributes = try volume.makeDirectory(
        FileName(name), in: parent, mode: mode, by: caller)
      answer(reply, entry: attributes)
    } catch {
      reply.error(error.errno)
    }
  }

  func symlink(
    _ name: Name, in parent: InodeNumber, to target: Name, _ caller: Caller,
    _ reply: consuming Reply
  ) {
    do throws(VolumeError) {
      try admit(.start)
      let attributes = try volume.makeSymlink(
        FileName(name), in: parent, target: target.bytes, by: caller)
      answer(reply, entry: attributes)
    } catch {
      reply.error(error.errno)
    }
  }

  func link(
    _ inode: InodeNumber, as name: Name, in parent: InodeNumber, _ reply: consuming Reply
  ) {
    do throws(VolumeError) {
      try admit(.start)
      guard !inode.isTag else { throw .system(.crossDevice) }
      let attributes = try volume.link(inode, as: FileName(name), in: parent)
      answer(reply, entry: attributes)
    } catch {
      reply.error(error.errno)
    }
  }

  func create(
    _ name: Name, in parent: InodeNumber, _ mode: mode_t, _ flags: Int32, _ caller: Caller,
    _ reply: consuming Reply
  ) {
    do throws(VolumeError) {
      try admit(.start)
      let attributes = try makeAndOpen(FileName(name), in: parent, mode, flags, caller)
      let handle = Handle(flags: flags)
      remember(attributes.inode)
      opened(attributes.inode, handle)
      guard !reply.created(attributes, handle) else { return }
      closed(attributes.inode, handle)
      forget(attributes.inode, 1)
    } catch {
      reply.error(error.errno)
    }
  }

  /// The kernel sends CREATE for a name it believes absent. Where the name has come up meanwhile
  /// and O_EXCL was not given, this is an ordinary open.
  private func makeAndOpen(
    _ name: FileName, in parent: InodeNumber, _ mode: mode_t, _ flags: Int32, _ caller: Caller
  ) throws(VolumeError) -> Attributes {
    do throws(VolumeError) {
      let attributes = try volume.makeNode(
        name, in: parent, mode: mode & ~S_IFMT | S_IFREG, device: 0, by: caller)
      try volume.open(attributes.inode, truncate: false)
      return attributes
    } catch {
      guard error == .system(.exists), flags & O_EXCL == 0 else { throw error }
      let attributes = try volume.lookup(name, in: parent)
      guard attributes.mode & S_IFMT == S_IFREG else { throw error }
      let truncates = flags & O_TRUNC != 0
      try volume.open(attributes.inode, truncate: truncates)
      return truncates ? try volume.attributes(of: attributes.inode) : attributes
    }
  }
}
