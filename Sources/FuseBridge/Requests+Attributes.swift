internal import CFuse3
internal import Glibc
internal import POSIX
internal import Volume

/// stat(2), chmod(2), chown(2), truncate(2), utimensat(2).
extension Bridge {
  /// Of the root it is no activity: desktops look at mount points all the time.
  ///
  /// Through a handle it is not stat(2) that asks but the kernel, before it takes more of a write
  /// into the page cache (fuse_cache_write_iter in fs/fuse/file.c): the one place where write(2)
  /// itself can be told that there is no room. Otherwise a program without an end, such as dd(1),
  /// would go on for ever, or write while the vault is locked.
  func getattr(_ inode: InodeNumber, _ handle: Handle, _ reply: consuming Reply) {
    do throws(VolumeError) {
      try admit(.start, isActivity: inode != .root)
      if handle.isWritable, let refusal = known.takeRefusal(of: inode) {
        throw .system(refusal)
      }
      if let tag = ViewTag.of(inode) { return reply.attributes(try attributes(of: tag)) }
      reply.attributes(try volume.attributes(of: inode))
    } catch {
      reply.error(error.errno)
    }
  }

  /// By inode, so a truncation through a handle works on an unlinked file as well.
  func setattr(
    _ inode: InodeNumber, _ values: stat, _ fields: Int32, _ caller: Caller,
    _ reply: consuming Reply
  ) {
    do throws(VolumeError) {
      let isWriteback = Self.isWriteback(fields)
      try admit(isWriteback ? .writeBack : .start, isActivity: !isWriteback)
      guard !inode.isTag else { throw .system(.notPermitted) }
      var change = try AttributeChange(
        values, fields, clearsSetID: Worker.current.clearsSetID)
      if change.clearsSetID, change.mode == nil {
        change.mode = try modeWithoutSetGroup(inode, caller, reply)
      }
      let changed = try volume.setAttributes(of: inode, change, by: caller)
      // While a lock is under way the kernel asks again before the next write(2), and is refused.
      reply.attributes(changed, stage == .serving ? CacheLifetime.attributes : 0)
    } catch {
      reply.error(error.errno)
    }
  }

  /// The permission bits of a file that has the set-group-id bit without execution by the group,
  /// where its change by this caller takes that, too: members keep it (setattr_should_drop_sgid in
  /// fs/attr.c). Otherwise nil; the volume alone knows what to do.
  func modeWithoutSetGroup(
    _ inode: InodeNumber, _ caller: Caller, _ reply: borrowing Reply
  ) throws(VolumeError) -> UInt32? {
    let attributes = try volume.attributes(of: inode)
    guard attributes.mode & (S_IFMT | S_ISGID | S_IXGRP) == S_IFREG | S_ISGID,
      caller.user != 0, caller.group != attributes.group,
      !reply.isAskedByMember(of: attributes.group)
    else { return nil }
    return attributes.mode & 0o7777 & ~(S_ISUID | S_ISGID)
  }

  /// Takes that bit after content was changed.
  func clearSetGroup(
    _ inode: InodeNumber, _ caller: Caller, _ reply: borrowing Reply
  ) throws(VolumeError) {
    var change = AttributeChange()
    change.mode = try modeWithoutSetGroup(inode, caller, reply)
    if change.mode != nil { _ = try volume.setAttributes(of: inode, change, by: caller) }
  }

  /// Whether the kernel itself stores the times of pages it wrote (fuse_flush_times in
  /// fs/fuse/inode.c): mtime and ctime, both given. A program that sets mtime alone, touch(1) -m,
  /// looks the same: it does not count as use, and passes while a lock is under way.
  private static func isWriteback(_ fields: Int32) -> Bool {
    fields & ~FUSE_SET_ATTR_CTIME == FUSE_SET_ATTR_MTIME
  }
}

extension AttributeChange {
  /// `clearsSetID`: FATTR_KILL_SUIDGID of the request, which libfuse 3.14 may not hand on.
  init(_ values: stat, _ fields: Int32, clearsSetID: Bool) throws(VolumeError) {
    self.init()
    if fields & FUSE_SET_ATTR_MODE != 0 { mode = values.st_mode & 0o7777 }
    if fields & FUSE_SET_ATTR_UID != 0 { user = values.st_uid }
    if fields & FUSE_SET_ATTR_GID != 0 { group = values.st_gid }
    if fields & FUSE_SET_ATTR_SIZE != 0 { size = try UInt64(offset: values.st_size) }
    accessed = Self.time(
      values.st_atim, fields, FUSE_SET_ATTR_ATIME, now: FUSE_SET_ATTR_ATIME_NOW)
    modified = Self.time(
      values.st_mtim, fields, FUSE_SET_ATTR_MTIME, now: FUSE_SET_ATTR_MTIME_NOW)
    changed = Self.time(values.st_ctim, fields, FUSE_SET_ATTR_CTIME, now: 0)
    self.clearsSetID = clearsSetID
  }

  /// The kernel sets both flags for UTIME_NOW, and neither for UTIME_OMIT, utimensat(2).
  private static func time(
    _ value: timespec, _ fields: Int32, _ flag: Int32, now: Int32
  ) -> TimeChange? {
    if fields & now != 0 { return .now }
    return fields & flag != 0 ? .to(Timestamp(value)) : nil
  }
}
