internal import Glibc
internal import POSIX
internal import Volume

/// The requests for what marks the mount, see `ViewMarker`.
extension Bridge {
  func attributes(of tag: ViewTag) throws(VolumeError) -> Attributes {
    tag.attributes(root: try volume.attributes(of: .root), links: marker.links(of: tag))
  }

  /// LOOKUP of a name that nothing in the volume has.
  func lookupTag(_ name: Name, in parent: InodeNumber, _ reply: consuming Reply) {
    do throws(VolumeError) {
      guard let tag = marker.tag(name, in: parent) else { return reply.noEntry() }
      answer(reply, entry: try attributes(of: tag))
    } catch {
      reply.error(error.errno)
    }
  }

  /// Only the administrator opens it for writing, as its mode has it. Then it becomes a stored
  /// file, which the kernel finds when it looks the name up again, as it does after ESTALE.
  func open(_ tag: ViewTag, _ flags: Int32, _ caller: Caller, _ reply: consuming Reply) {
    do throws(VolumeError) {
      try admit(.start)
      guard flags & (O_ACCMODE | O_TRUNC) == O_RDONLY else {
        try store(tag, isEmpty: flags & O_TRUNC != 0, caller)
        throw .system(.stale)
      }
      _ = reply.opened(Handle(isWritable: false))
    } catch {
      reply.error(error.errno)
    }
  }

  /// The entry in the listing of the root, if nothing stored has its name.
  func listedTag(in directory: InodeNumber) throws(VolumeError) -> DirectoryEntry? {
    let tag = ViewTag.listed
    guard directory == .root, marker.links(of: tag) > 0 else { return nil }
    do throws(VolumeError) {
      _ = try volume.lookup(FileName(tag.name), in: .root)
      return nil
    } catch {
      guard error == .system(.noSuchFile) else { throw error }
    }
    return DirectoryEntry(name: tag.name, inode: tag.inode, type: S_IFREG, cookie: 3)
  }

  /// Something of a name was removed, or is to be. False if nothing stood in for it.
  @discardableResult
  func giveUp(_ name: Name, in parent: InodeNumber) -> Bool {
    marker.hide(name, in: parent, watch: watchMarker)
  }

  @discardableResult
  func giveUp(_ name: [UInt8], of inode: InodeNumber) -> Bool {
    marker.hide(name, of: inode, watch: watchMarker)
  }

  /// A listing that the kernel keeps lacks what was hidden when it was made.
  private func watchMarker() {
    _ = try? Thread.start("coffre-marker") { [self] in
      while let left = marker.left { Clock.sleep(nanoseconds: left) }
      kernel.invalidate(.root)
    }
  }

  private func store(
    _ tag: ViewTag, isEmpty: Bool, _ caller: Caller
  ) throws(VolumeError) {
    do throws(VolumeError) {
      let made = try volume.makeNode(
        FileName(tag.name), in: .root, mode: S_IFREG | 0o444, device: 0, by: caller)
      notifier.run { [self] in kernel.invalidate(.root) }
      guard !isEmpty, !tag.text.isEmpty else { return }
      try unsafe volume.write(made.inode, tag.text.span.bytes, at: 0, clearsSetID: false)
    } catch {
      // Somebody else was faster.
      guard error == .system(.exists) else { throw error }
    }
  }

  func read(
    _ tag: ViewTag, _ count: Int, at offset: off_t, _ reply: consuming Reply
  ) {
    do throws(VolumeError) {
      try admit(.start)
      let start = min(try UInt64(offset: offset), UInt64(tag.text.count))
      reply.data(Array(tag.text.dropFirst(Int(start)).prefix(max(count, 0))))
    } catch {
      reply.error(error.errno)
    }
  }

  func seek(
    _ tag: ViewTag, from start: UInt64, _ target: SeekTarget, _ reply: consuming Reply
  ) {
    let size = UInt64(tag.text.count)
    guard start < size else { return reply.error(.noAddress) }
    reply.position(target == .data ? start : size)
  }

  /// An attribute, or the one that stands in for it.
  func attribute(
    _ name: [UInt8], of inode: InodeNumber
  ) throws(VolumeError) -> [UInt8] {
    guard !inode.isTag else { throw .system(.noData) }
    do throws(VolumeError) { return try volume.getAttribute(name, of: inode) } catch {
      guard error == .system(.noData), marker.isAttribute(name, of: inode) else { throw error }
      return ViewMarker.value
    }
  }

  func attributeNames(
    of inode: InodeNumber, for caller: Caller
  ) throws(VolumeError) -> [[UInt8]] {
    guard !inode.isTag else { return [] }
    let names = try volume.listAttributes(of: inode, for: caller)
    let own = ViewMarker.attribute
    return marker.isAttribute(own, of: inode) && !names.contains(own) ? names + [own] : names
  }
}
