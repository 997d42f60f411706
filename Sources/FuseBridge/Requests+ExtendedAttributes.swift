internal import Glibc
internal import POSIX
internal import Volume

/// Extended attributes, xattr(7).
///
/// The kernel also asks for `security.capability` before a first write to a file; that is an
/// ordinary get here, and the volume answers it from the inode it has in memory.
extension Bridge {
  func getxattr(_ name: Name, _ inode: InodeNumber, _ size: Int, _ reply: consuming Reply) {
    do throws(VolumeError) {
      try admit(.start)
      answer(reply, try attribute(name.bytes, of: inode), size)
    } catch {
      reply.error(error.errno)
    }
  }

  func listxattr(
    _ inode: InodeNumber, _ size: Int, _ caller: Caller, _ reply: consuming Reply
  ) {
    do throws(VolumeError) {
      try admit(.start)
      var list: [UInt8] = []
      for name in try attributeNames(of: inode, for: caller) { list += name + [0] }
      answer(reply, list, size)
    } catch {
      reply.error(error.errno)
    }
  }

  /// A size of zero asks for the length, getxattr(2); a buffer too small is ERANGE.
  private func answer(_ reply: consuming Reply, _ value: [UInt8], _ size: Int) {
    if size == 0 {
      reply.length(value.count)
    } else if value.count > size {
      reply.error(.range)
    } else {
      reply.data(value)
    }
  }

  func setxattr(
    _ name: Name, _ value: Name, _ inode: InodeNumber, _ flags: Int32, _ caller: Caller,
    _ reply: consuming Reply
  ) {
    do throws(VolumeError) {
      try admit(.start)
      guard !inode.isTag else { throw .system(.notPermitted) }
      guard let mode = AttributeMode(flags: flags) else { throw .system(.invalid) }
      let isMark = mode == .replace && marker.isAttribute(name.bytes, of: inode)
      try volume.setAttribute(
        name.bytes, to: value.bytes, of: inode, isMark ? .either : mode,
        by: member(caller, of: inode, name, reply))
      reply.done()
    } catch {
      reply.error(error.errno)
    }
  }

  /// The caller, as a member of the inode's group if that matters and one of his groups is it: an
  /// access control list takes the set-group-id bit from all others, as chmod(2) does.
  private func member(
    _ caller: Caller, of inode: InodeNumber, _ name: Name, _ reply: borrowing Reply
  ) throws(VolumeError) -> Caller {
    guard caller.user != 0, name.bytes == AccessControl.access else { return caller }
    let attributes = try volume.attributes(of: inode)
    guard attributes.mode & S_ISGID != 0, attributes.group != caller.group,
      reply.isAskedByMember(of: attributes.group)
    else { return caller }
    var member = caller
    member.group = attributes.group
    return member
  }

  func removexattr(_ name: Name, _ inode: InodeNumber, _ reply: consuming Reply) {
    do throws(VolumeError) {
      try admit(.start)
      guard !inode.isTag else { throw .system(.notPermitted) }
      try volume.removeAttribute(name.bytes, of: inode)
      giveUp(name.bytes, of: inode)
      reply.done()
    } catch {
      let isMark = error == .system(.noData) && giveUp(name.bytes, of: inode)
      if isMark { reply.done() } else { reply.error(error.errno) }
    }
  }
}

extension AttributeMode {
  /// XATTR_CREATE and XATTR_REPLACE of setxattr(2).
  init?(flags: Int32) {
    switch flags {
    case 0: self = .either
    case 1: self = .create
    case 2: self = .replace
    default: return nil
    }
  }
}
