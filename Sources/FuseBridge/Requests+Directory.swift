internal import CFuse3
internal import POSIX
internal import Synchronization
internal import Volume

/// opendir(3), readdir(3), closedir(3).
///
/// A cookie says after which entry to go on: 1 is ".", 2 is "..", 3 a `ViewTag`, larger ones are
/// the volume's and stay valid while entries come and go. Entries are gathered before anything else
/// is asked of the volume, which may hold the directory's lock while it lists.
extension Bridge {
  /// Nothing to open in the volume: the kernel's lookup keeps the directory alive, removed or not.
  ///
  /// The kernel is told so with the first answer, and asks no more: no round trips to open and
  /// close, and a listing is kept until a name in it changes, or we have it dropped. Every change
  /// of a name comes from the kernel itself.
  func opendir(_ reply: consuming Reply) {
    do throws(VolumeError) {
      try admit(.start)
      guard !leavesOpendir.load(ordering: .relaxed) else {
        return reply.error(.notImplemented)
      }
      _ = reply.opened(Handle(isWritable: false))
    } catch {
      reply.error(error.errno)
    }
  }

  func releasedir(_ reply: consuming Reply) {
    reply.done()
  }

  func fsyncdir(_ inode: InodeNumber, _ reply: consuming Reply) {
    do throws(VolumeError) {
      try admit(.writeBack)
      try volume.syncDirectory(inode)
      reply.done()
    } catch {
      reply.error(error.errno)
    }
  }

  func readdir(
    _ inode: InodeNumber, _ answer: consuming DirectoryReply, after cookie: Int,
    _ reply: consuming Reply
  ) {
    do throws(VolumeError) {
      for entry in try entries(inode, after: cookie, space: answer.space(plus: false)) {
        guard answer.add(entry) else { break }
      }
      answer.send(reply)
    } catch {
      reply.error(error.errno)
    }
  }

  /// With attributes: an entry that fits counts as a lookup, except "." and "..", fuse_lowlevel.h.
  func readdirplus(
    _ inode: InodeNumber, _ answer: consuming DirectoryReply, after cookie: Int,
    _ reply: consuming Reply
  ) {
    do throws(VolumeError) {
      var counted: [InodeNumber] = []
      for entry in try entries(inode, after: cookie, space: answer.space(plus: true)) {
        // An inode that went away meanwhile, or is damaged, still has its name listed.
        let attributes = entry.isDots ? nil : try? volume.attributes(of: entry.inode)
        if let attributes { remember(attributes.inode) }
        guard answer.add(entry, attributes) else {
          if let attributes { forget(attributes.inode, 1) }
          break
        }
        if let attributes { counted.append(attributes.inode) }
      }
      if !answer.send(reply) { for inode in counted { forget(inode, 1) } }
    } catch {
      reply.error(error.errno)
    }
  }

  /// The entries after a cookie that fill some space, the two dots included.
  private func entries(
    _ inode: InodeNumber, after cookie: Int, space: consuming DirectorySpace
  ) throws(VolumeError) -> [DirectoryEntry] {
    try admit(.start)
    let cookie = try UInt64(offset: cookie)
    var entries: [DirectoryEntry] = []
    if cookie < 1 { entries.append(.dots([0x2e], inode, cookie: 1)) }
    if cookie < 2 {
      entries.append(.dots([0x2e, 0x2e], try volume.parent(of: inode), cookie: 2))
    }
    if cookie < 3, let tag = try listedTag(in: inode) { entries.append(tag) }
    for entry in entries { _ = space.take(entry.name.count) }
    try volume.readDirectory(inode, after: cookie <= 3 ? 0 : cookie) { entry in
      guard space.take(entry.name.count) else { return false }
      entries.append(entry)
      return true
    }
    return entries
  }
}

extension DirectoryEntry {
  fileprivate static func dots(
    _ name: [UInt8], _ inode: InodeNumber, cookie: UInt64
  ) -> DirectoryEntry {
    DirectoryEntry(name: name, inode: inode, type: 0o040000, cookie: cookie)
  }

  fileprivate var isDots: Bool { cookie <= 2 }
}
