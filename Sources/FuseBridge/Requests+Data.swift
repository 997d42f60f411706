internal import Bytes
internal import Glibc
internal import POSIX
internal import Volume

/// Content: read(2), write(2), and what the page cache makes of them.
extension Bridge {
  /// Answers every byte up to the end of the file, or an error.
  ///
  /// A short answer in the middle would read as zeros under the writeback cache (fuse_short_read in
  /// fs/fuse/file.c). Past our end it is right: the kernel may know of a larger size, by pages it
  /// has not written back, and what lies between is a hole.
  func read(_ inode: InodeNumber, _ count: Int, at offset: off_t, _ reply: consuming Reply) {
    if let tag = ViewTag.of(inode) { return read(tag, count, at: offset, reply) }
    do throws(VolumeError) {
      try admit(.start)
      let start = try UInt64(offset: offset)
      let buffer = Worker.current.buffer(count)
      var space = buffer.mutableBytes(in: 0..<count)
      let length = try volume.read(inode, into: &space, at: start)
      reply.data(buffer.bytes(in: 0..<length))
    } catch {
      reply.error(error.errno)
    }
  }

  /// Writes straight from libfuse's request buffer.
  ///
  /// After a failure the pages hold what the store lacks, and the kernel takes them for clean: they
  /// are dropped, by another thread since dropping writes back the others. Where set-uid bits were
  /// to go, the kernel keeps the mode it knew, and would still run the file with it: it has to ask
  /// again.
  func write(
    _ inode: InodeNumber, _ bytes: RawSpan, at offset: off_t, _ isWriteback: Bool,
    _ caller: Caller, _ reply: consuming Reply
  ) {
    do throws(VolumeError) {
      try admit(isWriteback ? .writeBack : .start, isActivity: !isWriteback)
      let clearsSetID = Worker.current.clearsSetID
      try volume.write(inode, bytes, at: UInt64(offset: offset), clearsSetID: clearsSetID)
      if clearsSetID {
        try clearSetGroup(inode, caller, reply)
        kernel.invalidateAttributes(inode)
      }
      reply.written(bytes.byteCount)
    } catch {
      if isWriteback {
        noteWriteBackFailure(error.errno)
        known.refuse(inode, error.errno)
      }
      reply.error(error.errno)
      let start = UInt64(max(offset, 0))
      notifier.drop(inode, start..<(start + UInt64(bytes.byteCount)))
    }
  }

  /// copy_file_range(2). The kernel has written back both ranges before it asks, and drops the
  /// target's pages after (__fuse_copy_file_range in fs/fuse/file.c). Copies a part at a time, so
  /// that a large copy neither holds a worker for long nor outlives a signal by much.
  func copy(
    _ source: InodeNumber, at start: off_t, to target: InodeNumber, at offset: off_t, _ count: Int,
    _ flags: Int32, _ reply: consuming Reply
  ) {
    do throws(VolumeError) {
      try admit(.start)
      guard flags == 0 else { throw .system(.invalid) }
      // The kernel copies by itself then.
      guard !source.isTag else { throw .system(.crossDevice) }
      let copied = try volume.copyRange(
        from: source, at: UInt64(offset: start), to: target, at: UInt64(offset: offset),
        count: UInt64(min(max(count, 0), 16 << 20)))
      // The volume clears set-uid bits of the target; the kernel has to ask for its mode again.
      kernel.invalidateAttributes(target)
      reply.written(Int(copied))
    } catch {
      reply.error(error.errno)
    }
  }
}
