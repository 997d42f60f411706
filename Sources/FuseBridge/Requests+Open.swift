internal import Glibc
internal import POSIX
internal import Synchronization
internal import Volume

/// Handles: open(2), close(2), fsync(2).
extension Bridge {
  func open(_ inode: InodeNumber, _ flags: Int32, _ caller: Caller, _ reply: consuming Reply) {
    if let tag = ViewTag.of(inode) { return open(tag, flags, caller, reply) }
    do throws(VolumeError) {
      try admit(.start)
      try volume.open(inode, truncate: flags & O_TRUNC != 0)
      if flags & O_TRUNC != 0 { try clearSetID(inode, caller, reply) }
      let handle = Handle(flags: flags)
      opened(inode, handle)
      if !reply.opened(handle) { closed(inode, handle) }
    } catch {
      reply.error(error.errno)
    }
  }

  /// open(2) with O_TRUNC takes set-uid bits away, where the kernel says so; one that can't say it
  /// leaves them to us (fuse_do_setattr in fs/fuse/dir.c). The mode that the kernel knew must not
  /// outlive it.
  private func clearSetID(
    _ inode: InodeNumber, _ caller: Caller, _ reply: borrowing Reply
  ) throws(VolumeError) {
    let isTold = takesKillPriv.load(ordering: .relaxed)
    guard isTold ? Worker.current.clearsSetID : caller.user != 0 else { return }
    var change = AttributeChange()
    change.clearsSetID = true
    do throws(VolumeError) {
      change.mode = try modeWithoutSetGroup(inode, caller, reply)
      _ = try volume.setAttributes(of: inode, change, by: caller)
      kernel.invalidateAttributes(inode)
    } catch {
      volume.release(inode)
      throw error
    }
  }

  func opened(_ inode: InodeNumber, _ handle: Handle) {
    if handle.isWritable { known.addWriter(inode) }
  }

  func closed(_ inode: InodeNumber, _ handle: Handle) {
    if handle.isWritable { known.removeWriter(inode) }
    if !inode.isTag { volume.release(inode) }
  }

  /// close(2) of one descriptor of a handle: the place where an application hears of a late error.
  ///
  /// Always answered by the volume: with the writeback cache it is the only sign of a close that
  /// can carry an error. It passes at every stage of a lock.
  func flush(_ inode: InodeNumber, _ reply: consuming Reply) {
    do throws(VolumeError) {
      // The kernel tells the closing program of the pages it could not write back.
      _ = known.takeRefusal(of: inode)
      try volume.flush(inode)
      reply.done()
    } catch {
      reply.error(error.errno)
    }
  }

  /// The last descriptor and mapping have gone. The kernel does not look at the answer.
  func release(_ inode: InodeNumber, _ handle: Handle, _ reply: consuming Reply) {
    closed(inode, handle)
    reply.done()
  }

  func fsync(_ inode: InodeNumber, dataOnly: Bool, _ reply: consuming Reply) {
    do throws(VolumeError) {
      try admit(.writeBack)
      if !inode.isTag { try volume.sync(inode, dataOnly: dataOnly) }
      reply.done()
    } catch {
      reply.error(error.errno)
    }
  }
}
