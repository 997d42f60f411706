internal import Glibc
internal import POSIX
internal import Volume

/// Space: statfs(2), fallocate(2), and where a file has holes, lseek(2).
extension Bridge {
  /// Not activity: desktops and `df` ask again and again.
  func statfs(_ reply: consuming Reply) {
    do throws(VolumeError) {
      try admit(.start, isActivity: false)
      reply.space(try volume.space())
    } catch {
      reply.error(error.errno)
    }
  }

  /// The kernel does not say whether set-uid bits are to go (fuse_file_fallocate in
  /// fs/fuse/file.c): they stay for the administrator alone. It keeps the mode it knew, and has to
  /// ask for it again.
  func fallocate(
    _ inode: InodeNumber, _ mode: Int32, at offset: off_t, _ count: off_t, _ caller: Caller,
    _ reply: consuming Reply
  ) {
    do throws(VolumeError) {
      try admit(.start)
      guard let mode = AllocationMode(flags: mode) else { throw .system(.notSupported) }
      let start = try UInt64(offset: offset)
      let (end, overflow) = start.addingReportingOverflow(try UInt64(offset: count))
      guard !overflow, end <= UInt64(off_t.max) else { throw .system(.fileTooLarge) }
      let clearsSetID = caller.user != 0
      do throws(VolumeError) {
        try volume.allocate(inode, start..<end, mode, clearsSetID: clearsSetID)
        if clearsSetID { try clearSetGroup(inode, caller, reply) }
      } catch {
        if clearsSetID { kernel.invalidateAttributes(inode) }
        throw error
      }
      // Before the answer: the program may run the file right after it.
      if clearsSetID { kernel.invalidateAttributes(inode) }
      reply.done()
    } catch {
      reply.error(error.errno)
    }
  }

  /// SEEK_DATA and SEEK_HOLE, lseek(2).
  ///
  /// The kernel asks without writing back first, so our answer could call a dirty page a hole, or
  /// ENXIO what lies past our end but not past the kernel's. Where no handle can have dirtied pages
  /// the volume answers at once. Otherwise another thread has the pages written back, then answers:
  /// no worker waits, so the write-backs are served; and neither the write-back nor the
  /// invalidation takes the inode's lock that the kernel holds during lseek (i_rwsem).
  func lseek(
    _ inode: InodeNumber, from offset: off_t, _ whence: Int32, _ reply: consuming Reply
  ) {
    do throws(VolumeError) {
      try admit(.start)
      guard offset >= 0 else { throw .system(.noAddress) }
      let start = try UInt64(offset: offset)
      guard let target = SeekTarget(rawValue: whence) else { throw .system(.invalid) }
      if let tag = ViewTag.of(inode) { return seek(tag, from: start, target, reply) }
      guard known.mayBeDirty(inode) else {
        return seek(inode, from: start, target, reply)
      }
      let postponed = reply.postponed()
      let stage = begin()
      notifier.run { [self] in
        kernel.invalidate(inode)
        seek(inode, from: start, target, postponed.reply)
        end(stage)
      }
    } catch {
      reply.error(error.errno)
    }
  }

  private func seek(
    _ inode: InodeNumber, from start: UInt64, _ target: SeekTarget, _ reply: consuming Reply
  ) {
    do throws(VolumeError) {
      switch target {
      case .data: reply.position(try volume.seekData(inode, from: start))
      case .hole: reply.position(try volume.seekHole(inode, from: start))
      }
    } catch {
      reply.error(error.errno)
    }
  }
}

/// `whence` of lseek(2), as far as the kernel does not do it alone.
enum SeekTarget: Int32 {
  case data = 3
  case hole = 4
}

extension AllocationMode {
  /// FALLOC_FL_KEEP_SIZE 0x1, PUNCH_HOLE 0x2, ZERO_RANGE 0x10 of fallocate(2). COLLAPSE_RANGE,
  /// INSERT_RANGE and UNSHARE_RANGE are not supported.
  init?(flags: Int32) {
    switch flags {
    case 0: self = .allocate
    case 0x01: self = .allocateKeepingSize
    case 0x03: self = .punch
    case 0x10: self = .zero
    case 0x11: self = .zeroKeepingSize
    default: return nil
    }
  }
}
