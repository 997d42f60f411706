internal import CFuse3
internal import Volume

/// The table of callbacks, one line a request: find the bridge, borrow the arguments, call one
/// method.
///
/// The closures are formed here, in nonisolated functions of a library, and capture nothing: a
/// closure written in `main` would be inferred to belong to the main actor and trap on a worker.
/// Requests without a line are answered ENOSYS by libfuse, and mostly never asked again: access
/// (left to `default_permissions`), getlk, setlk and flock (left to the kernel), bmap, ioctl, poll.
/// libfuse 3.14 knows no tmpfile and no statx.
enum Operations {
  static func table() -> fuse_lowlevel_ops {
    var table = fuse_lowlevel_ops()
    setNames(&table)
    setMaking(&table)
    setFiles(&table)
    setRanges(&table)
    setDirectories(&table)
    setAttributes(&table)
    return table
  }

  private static func setNames(_ table: inout fuse_lowlevel_ops) {
    unsafe table.lookup = { req, parent, name in
      unsafe Bridge.of(req).lookup(Name(name), in: node(parent), Reply(req))
    }
    unsafe table.forget = { req, inode, count in
      unsafe Bridge.of(req).forget(node(inode), count: count, Reply(req))
    }
    unsafe table.forget_multi = { req, count, list in
      unsafe Bridge.of(req).forget(UnsafeBufferPointer(start: list, count: count), Reply(req))
    }
    unsafe table.unlink = { req, parent, name in
      unsafe Bridge.of(req).unlink(Name(name), in: node(parent), Reply(req))
    }
    unsafe table.rmdir = { req, parent, name in
      unsafe Bridge.of(req).rmdir(Name(name), in: node(parent), Reply(req))
    }
    unsafe table.rename = { req, parent, name, newParent, newName, flags in
      unsafe Bridge.of(req).rename(
        Name(name), in: node(parent), to: Name(newName), in: node(newParent), flags, Reply(req))
    }
    unsafe table.readlink = { req, inode in
      unsafe Bridge.of(req).readlink(node(inode), Reply(req))
    }
  }

  private static func setMaking(_ table: inout fuse_lowlevel_ops) {
    unsafe table.mknod = { req, parent, name, mode, device in
      unsafe Bridge.of(req).mknod(
        Name(name), in: node(parent), mode, device, Caller(req), Reply(req))
    }
    unsafe table.mkdir = { req, parent, name, mode in
      unsafe Bridge.of(req).mkdir(Name(name), in: node(parent), mode, Caller(req), Reply(req))
    }
    unsafe table.symlink = { req, target, parent, name in
      unsafe Bridge.of(req).symlink(
        Name(name), in: node(parent), to: Name(target), Caller(req), Reply(req))
    }
    unsafe table.link = { req, inode, parent, name in
      unsafe Bridge.of(req).link(node(inode), as: Name(name), in: node(parent), Reply(req))
    }
    unsafe table.create = { req, parent, name, mode, info in
      unsafe Bridge.of(req).create(
        Name(name), in: node(parent), mode, given(info).pointee.flags, Caller(req), Reply(req))
    }
  }

  private static func setFiles(_ table: inout fuse_lowlevel_ops) {
    unsafe table.open = { req, inode, info in
      unsafe Bridge.of(req).open(node(inode), given(info).pointee.flags, Caller(req), Reply(req))
    }
    unsafe table.read = { req, inode, count, offset, _ in
      unsafe Bridge.of(req).read(node(inode), count, at: offset, Reply(req))
    }
    unsafe table.write = { req, inode, data, count, offset, info in
      unsafe Bridge.of(req).write(
        node(inode), RawSpan(_unsafeStart: given(data), byteCount: count), at: offset,
        given(info).pointee.writepage == 1, Caller(req), Reply(req))
    }
    unsafe table.flush = { req, inode, _ in
      unsafe Bridge.of(req).flush(node(inode), Reply(req))
    }
    unsafe table.release = { req, inode, info in
      unsafe Bridge.of(req).release(node(inode), Handle(info), Reply(req))
    }
    unsafe table.fsync = { req, inode, dataOnly, _ in
      unsafe Bridge.of(req).fsync(node(inode), dataOnly: dataOnly != 0, Reply(req))
    }
  }

  private static func setRanges(_ table: inout fuse_lowlevel_ops) {
    unsafe table.fallocate = { req, inode, mode, offset, count, _ in
      unsafe Bridge.of(req).fallocate(
        node(inode), mode, at: offset, count, Caller(req), Reply(req))
    }
    unsafe table.lseek = { req, inode, offset, whence, _ in
      unsafe Bridge.of(req).lseek(node(inode), from: offset, whence, Reply(req))
    }
    unsafe table.copy_file_range = { req, source, start, _, target, offset, _, count, flags in
      unsafe Bridge.of(req).copy(
        node(source), at: start, to: node(target), at: offset, count, flags, Reply(req))
    }
  }

  private static func setDirectories(_ table: inout fuse_lowlevel_ops) {
    unsafe table.opendir = { req, _, _ in
      unsafe Bridge.of(req).opendir(Reply(req))
    }
    unsafe table.readdir = { req, inode, size, cookie, _ in
      unsafe Bridge.of(req).readdir(
        node(inode), DirectoryReply(req, size), after: cookie, Reply(req))
    }
    unsafe table.readdirplus = { req, inode, size, cookie, _ in
      unsafe Bridge.of(req).readdirplus(
        node(inode), DirectoryReply(req, size), after: cookie, Reply(req))
    }
    unsafe table.releasedir = { req, _, _ in
      unsafe Bridge.of(req).releasedir(Reply(req))
    }
    unsafe table.fsyncdir = { req, inode, _, _ in
      unsafe Bridge.of(req).fsyncdir(node(inode), Reply(req))
    }
    unsafe table.statfs = { req, _ in
      unsafe Bridge.of(req).statfs(Reply(req))
    }
  }

  private static func setAttributes(_ table: inout fuse_lowlevel_ops) {
    unsafe table.getattr = { req, inode, info in
      unsafe Bridge.of(req).getattr(node(inode), Handle(info), Reply(req))
    }
    unsafe table.setattr = { req, inode, values, fields, _ in
      unsafe Bridge.of(req).setattr(
        node(inode), given(values).pointee, fields, Caller(req), Reply(req))
    }
    unsafe table.getxattr = { req, inode, name, size in
      unsafe Bridge.of(req).getxattr(Name(name), node(inode), size, Reply(req))
    }
    unsafe table.setxattr = { req, inode, name, value, size, flags in
      unsafe Bridge.of(req).setxattr(
        Name(name), Name(value, size), node(inode), flags, Caller(req), Reply(req))
    }
    unsafe table.removexattr = { req, inode, name in
      unsafe Bridge.of(req).removexattr(Name(name), node(inode), Reply(req))
    }
    unsafe table.listxattr = { req, inode, size in
      unsafe Bridge.of(req).listxattr(node(inode), size, Caller(req), Reply(req))
    }
    unsafe table.`init` = { data, connection in
      unsafe Bridge.of(data).started(&given(connection).pointee)
    }
  }
}

/// Outside of the enum: a callback that named a static method would capture the type.
private func node(_ number: fuse_ino_t) -> InodeNumber {
  InodeNumber(rawValue: UInt64(number))
}

/// What libfuse passes with every request of the kind.
private func given<T>(_ pointer: UnsafeMutablePointer<T>?) -> UnsafeMutablePointer<T> {
  guard let pointer = unsafe pointer else { preconditionFailure("libfuse passes it") }
  return unsafe pointer
}

private func given<T>(_ pointer: UnsafePointer<T>?) -> UnsafePointer<T> {
  guard let pointer = unsafe pointer else { preconditionFailure("libfuse passes it") }
  return unsafe pointer
}
