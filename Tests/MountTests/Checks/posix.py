"""Checks of POSIX behaviour in general; see checking.py."""
import ctypes
import errno
import fcntl
import mmap
import os
import stat
import struct
import subprocess
import sys

from checking import as_user, fails_with, get, libc, make, put, run


def check_sparse_tebibyte():
    fd = make("f")
    os.ftruncate(fd, 1 << 40)
    assert os.fstat(fd).st_size == 1 << 40 and os.fstat(fd).st_blocks == 0
    os.pwrite(fd, b"x", (1 << 40) - 1)
    os.fsync(fd)
    assert os.pread(fd, 2, (1 << 40) - 1) == b"x"
    os.close(fd)
    os.unlink("f")


def check_unlink_then_write_fsync_fchmod():
    fd = make("f")
    os.unlink("f")
    os.write(fd, b"abc")
    os.fsync(fd)
    os.fchmod(fd, 0o600)
    assert os.pread(fd, 3, 0) == b"abc" and os.fstat(fd).st_nlink == 0
    os.close(fd)


def check_read_only_mode_created_then_written():
    fd = make("f", os.O_WRONLY, 0o444)
    os.write(fd, b"hello")
    os.close(fd)
    assert get("f") == b"hello"
    os.unlink("f")


def check_truncate_by_path_while_written():
    fd = make("f")
    os.write(fd, b"a" * 10000)
    os.truncate("f", 5000)
    os.write(fd, b"b" * 100)
    os.fsync(fd)
    assert get("f") == b"a" * 5000 + b"\0" * 5000 + b"b" * 100
    os.close(fd)
    os.unlink("f")


def check_truncate_then_grow_reads_zeros():
    put("f", b"x" * 9000)
    os.truncate("f", 4097)
    os.truncate("f", 9000)
    assert get("f") == b"x" * 4097 + b"\0" * (9000 - 4097)
    os.truncate("f", 4096)
    os.truncate("f", 9000)
    assert get("f") == b"x" * 4096 + b"\0" * (9000 - 4096)
    os.unlink("f")


def check_rename_over_directory():
    os.mkdir("a")
    os.makedirs("b/x")
    try:
        os.rename("a", "b")
        raise AssertionError("no error")
    except OSError as failure:
        assert failure.errno in (errno.ENOTEMPTY, errno.EEXIST)
    os.rmdir("b/x")
    os.rename("a", "b")
    os.rmdir("b")


def check_rename_into_itself():
    os.makedirs("a/b")
    fails_with(errno.EINVAL, os.rename, "a", "a/b/c")
    os.rmdir("a/b")
    os.rmdir("a")


def check_rmdir_of_open_directory():
    os.mkdir("d")
    fd = os.open("d", os.O_RDONLY)
    os.rmdir("d")
    assert os.listdir(fd) == []
    os.close(fd)


def check_size_right_after_link():
    put("a", b"z" * 777)
    os.link("a", "b")
    assert os.stat("b").st_size == 777 and os.stat("a").st_nlink == 2
    os.unlink("a")
    assert os.stat("b").st_nlink == 1
    os.unlink("b")


def check_append_from_four_processes():
    program = (
        "import os\nfd = os.open('f', os.O_CREAT | os.O_WRONLY | os.O_APPEND)\n"
        "for i in range(300): os.write(fd, b'%d\\n' % (10000 + i))\n"
    )
    processes = [subprocess.Popen([sys.executable, "-c", program]) for _ in range(4)]
    assert [process.wait() for process in processes] == [0] * 4
    assert len(get("f").split()) == 1200
    os.unlink("f")


def check_times_omit_and_nanoseconds():
    put("f", b"")
    os.utime("f", ns=(1234567890123456789, 987654321987654321))
    status = os.stat("f")
    assert (status.st_atime_ns, status.st_mtime_ns) == (1234567890123456789, 987654321987654321)
    subprocess.run(["touch", "-a", "-d", "2001-01-01", "f"], check=True)
    assert os.stat("f").st_mtime_ns == 987654321987654321
    for seconds in (-2000000000, 15000000000):
        os.utime("f", (seconds, seconds))
        assert os.stat("f").st_mtime == seconds
    os.unlink("f")


def check_times_survive_write_back():
    put("f", b"data")
    os.utime("f", (1e9, 1e9))
    os.sync()
    assert os.stat("f").st_mtime == 1e9
    os.unlink("f")


def check_shared_mapping():
    fd = make("f")
    os.ftruncate(fd, 100000)
    memory = mmap.mmap(fd, 100000)
    memory[50000:50005] = b"hello"
    memory.flush()
    assert os.pread(fd, 5, 50000) == b"hello"
    memory.close()
    os.close(fd)
    os.unlink("f")


def check_extended_attributes():
    put("f", b"")
    os.setxattr("f", "user.a", b"1")
    os.setxattr("f", "user.b", b"v" * 2000)
    assert os.getxattr("f", "user.b") == b"v" * 2000
    assert sorted(n for n in os.listxattr("f") if n.startswith("user.")) == ["user.a", "user.b"]
    fails_with(errno.EEXIST, os.setxattr, "f", "user.a", b"2", os.XATTR_CREATE)
    fails_with(errno.ENODATA, os.setxattr, "f", "user.c", b"2", os.XATTR_REPLACE)
    os.removexattr("f", "user.a")
    fails_with(errno.ENODATA, os.getxattr, "f", "user.a")
    if os.geteuid() == 0:
        os.setxattr("f", "trusted.t", b"3")
        assert os.getxattr("f", "trusted.t") == b"3"
    os.unlink("f")


def check_attributes_outside_of_namespaces():
    put("f", b"")
    for name in ("system.x", "foo", "other.x", "system.posix_acl"):
        fails_with(errno.EOPNOTSUPP, os.setxattr, "f", name, b"1")
        fails_with(errno.EOPNOTSUPP, os.getxattr, "f", name)
        fails_with(errno.EOPNOTSUPP, os.removexattr, "f", name)
    for name in ("user.", "security."):
        try:
            os.setxattr("f", name, b"1")
            raise AssertionError("no error")
        except OSError as failure:
            assert failure.errno in (errno.EOPNOTSUPP, errno.EINVAL), failure
    assert [n for n in os.listxattr("f") if n != "security.selinux"] == []
    os.unlink("f")


def root_check_trusted_attributes_are_hidden_from_others():
    put("f", b"")
    os.setxattr("f", "trusted.t", b"3")
    os.setxattr("f", "user.u", b"4")
    os.chown("f", 65534, 65534)
    assert {"trusted.t", "user.u"} <= set(os.listxattr("f"))

    def look():
        names = os.listxattr("f")
        assert "user.u" in names and "trusted.t" not in names, names

    as_user(look)
    os.unlink("f")


def acl(*entries):
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in entries)


def root_check_access_list_keeps_set_group_for_members():
    none = 0xFFFFFFFF
    value = acl((1, 7, none), (2, 5, 1001), (4, 5, none), (16, 5, none), (32, 0, none))

    def change(name):
        os.setxattr(name, "system.posix_acl_access", value)

    for is_member in (True, False):
        put("f", b"")
        os.mkdir("d")
        for name in ("f", "d"):
            os.chown(name, 1000, 2000)
            os.chmod(name, 0o2770)
            groups = [3000, 2000] if is_member else [3000]
            as_user(change, name, user=1000, group=1000, groups=groups)
            mode = os.stat(name).st_mode & 0o7777
            assert mode == (0o2750 if is_member else 0o750), (name, is_member, oct(mode))
        os.unlink("f")
        os.rmdir("d")


def check_fallocate():
    fd = make("f")
    os.write(fd, b"q" * 20000)
    assert libc.fallocate(fd, 3, 5000, 10000) == 0, ctypes.get_errno()
    assert os.pread(fd, 20000, 0) == b"q" * 5000 + b"\0" * 10000 + b"q" * 5000
    assert libc.fallocate(fd, 1, 0, 100000) == 0 and os.fstat(fd).st_size == 20000
    assert libc.fallocate(fd, 0, 0, 100000) == 0 and os.fstat(fd).st_size == 100000
    assert libc.fallocate(fd, 0x10, 18000, 10000) == 0
    assert os.pread(fd, 10000, 18000) == b"\0" * 10000
    os.close(fd)
    os.unlink("f")


def changes():
    """Each way to change content, as a function of no arguments."""

    def write():
        os.write(os.open("f", os.O_WRONLY), b"y")

    def empty():
        os.open("f", os.O_WRONLY | os.O_TRUNC)

    def allocate():
        assert libc.fallocate(os.open("f", os.O_RDWR), 0, 0, 30000) == 0, ctypes.get_errno()

    return [write, empty, lambda: os.truncate("f", 100), allocate]


def expect_mode_after_changes(before, after, **who):
    for number, change in enumerate(changes()):
        put("f", b"x" * 20000)
        os.chown("f", 65534, 2000)
        os.chmod("f", before)
        as_user(change, **who)
        mode = os.stat("f").st_mode & 0o7777
        assert mode == after, (number, oct(mode), who)
        os.unlink("f")


def root_check_changes_by_root_keep_set_user():
    expect_mode_after_changes(0o6777, 0o6777, user=0, group=0)


def root_check_changes_by_others_clear_set_user():
    expect_mode_after_changes(0o6777, 0o777, user=1000, group=1000)


def root_check_changes_by_others_clear_set_group_without_execution():
    expect_mode_after_changes(0o2666, 0o666, user=1000, group=1000)
    expect_mode_after_changes(0o2666, 0o2666, user=1000, group=1000, groups=[2000])
    expect_mode_after_changes(0o2666, 0o2666, user=1000, group=2000)


def root_check_chown_of_a_fifo_clears_set_user():
    os.mkfifo("p")
    os.chmod("p", 0o6777)
    os.chown("p", 1000, 1000)
    assert os.stat("p").st_mode & 0o7777 == 0o777
    os.unlink("p")


def root_check_fallocate_clears_set_user():
    put("f", b"x" * 20000)
    os.chown("f", 65534, 65534)
    for mode in (0, 1, 3, 0x10, 0x11):
        os.chmod("f", 0o6777)

        def allocate():
            fd = os.open("f", os.O_RDWR)
            assert libc.fallocate(fd, mode, 0, 30000) == 0, ctypes.get_errno()

        os.stat("f")
        as_user(allocate, user=1000, group=1000)
        assert os.stat("f").st_mode & 0o7777 == 0o777, (mode, oct(os.stat("f").st_mode))
        os.chmod("f", 0o6777)
        allocate()
        assert os.stat("f").st_mode & 0o7777 == 0o6777, mode
    os.unlink("f")


def check_seek_data_and_hole():
    fd = make("f")
    os.pwrite(fd, b"x" * 4096, 1 << 20)
    os.fsync(fd)
    data = os.lseek(fd, 0, os.SEEK_DATA)
    assert data <= 1 << 20
    assert os.lseek(fd, 1 << 20, os.SEEK_HOLE) >= (1 << 20) + 4096
    fails_with(errno.ENXIO, os.lseek, fd, 2 << 20, os.SEEK_DATA)
    fails_with(errno.ENXIO, os.lseek, fd, -1, os.SEEK_DATA)
    fails_with(errno.ENXIO, os.lseek, fd, -1, os.SEEK_HOLE)
    os.close(fd)
    os.unlink("f")


def check_copy_file_range():
    a, b = make("a"), make("b")
    content = bytes(range(256)) * 1000
    os.write(a, content)
    count = os.copy_file_range(a, b, 200000, 100, 50)
    os.fsync(b)
    assert count > 0 and os.pread(b, count, 50) == content[100:100 + count]
    os.close(a)
    os.close(b)
    os.unlink("a")
    os.unlink("b")


def check_rename_exchange_and_no_replace():
    put("a", b"1")
    put("b", b"2")
    assert libc.renameat2(-100, b"a", -100, b"b", 2) == 0
    assert get("a") == b"2" and get("b") == b"1"
    assert libc.renameat2(-100, b"a", -100, b"b", 1) != 0
    assert ctypes.get_errno() == errno.EEXIST
    os.unlink("a")
    os.unlink("b")


def check_set_group_directory():
    os.mkdir("d")
    os.chmod("d", 0o2775)
    os.mkdir("d/e")
    status = os.stat("d/e")
    assert status.st_gid == os.stat("d").st_gid and status.st_mode & 0o2000
    os.rmdir("d/e")
    os.rmdir("d")


def root_check_chown_clears_set_user():
    put("f", b"x")
    os.chmod("f", 0o6755)
    os.chown("f", 1000, 1000)
    assert os.stat("f").st_mode & 0o6000 == 0
    os.unlink("f")


def check_special_files():
    os.mkfifo("p")
    assert stat.S_ISFIFO(os.stat("p").st_mode)
    os.unlink("p")
    os.mknod("s", stat.S_IFSOCK | 0o600)
    assert stat.S_ISSOCK(os.stat("s").st_mode)
    os.unlink("s")


def check_symlinks():
    for target in ("t" * 4095, "short", "m" * 97):
        os.symlink(target, "l")
        assert os.readlink("l") == target and os.lstat("l").st_size == len(target)
        os.unlink("l")


def check_names_are_bytes():
    name = b"\xff\xfe" + b"n" * 253
    put(name, b"")
    assert name in os.listdir(b".")
    os.unlink(name)
    fails_with(errno.ENAMETOOLONG, os.mkdir, "n" * 256)
    put(b"e\xcc\x81", b"1")
    put(b"\xc3\xa9", b"2")
    assert get(b"e\xcc\x81") == b"1" and get(b"\xc3\xa9") == b"2"
    os.unlink(b"e\xcc\x81")
    os.unlink(b"\xc3\xa9")


def check_listing_while_removing():
    os.mkdir("d")
    for index in range(2000):
        put("d/%d" % index, b"")
    seen = set()
    with os.scandir("d") as entries:
        for entry in entries:
            seen.add(entry.name)
            os.unlink("d/" + entry.name)
    assert len(seen) == 2000
    os.rmdir("d")


def check_locks_between_processes():
    fd = make("f")
    fcntl.flock(fd, fcntl.LOCK_EX)
    assert subprocess.run(["flock", "-n", "f", "true"]).returncode == 1
    fcntl.flock(fd, fcntl.LOCK_UN)
    assert subprocess.run(["flock", "-n", "f", "true"]).returncode == 0
    fcntl.lockf(fd, fcntl.LOCK_EX)
    fcntl.lockf(fd, fcntl.LOCK_UN)
    os.close(fd)
    os.unlink("f")


def check_direct_io():
    try:
        fd = make("f", os.O_RDWR | os.O_DIRECT)
    except OSError as failure:
        assert failure.errno == errno.EINVAL  # a filesystem without it, such as tmpfs
        os.unlink("f")
        return
    memory = mmap.mmap(-1, 8192)
    memory[:] = b"D" * 8192
    assert os.write(fd, memory) == 8192
    again = mmap.mmap(-1, 8192)
    assert os.preadv(fd, [again], 0) == 8192 and again[:] == memory[:]
    os.close(fd)
    os.unlink("f")


def check_chmod_and_default_mask():
    old = os.umask(0o027)
    put("f", b"")
    os.umask(old)
    assert os.stat("f").st_mode & 0o777 == 0o640
    os.unlink("f")


def check_hard_links_to_open_file():
    fd = make("f")
    os.write(fd, b"one")
    os.link("f", "g")
    os.unlink("f")
    os.write(fd, b"two")
    os.close(fd)
    assert get("g") == b"onetwo"
    os.unlink("g")


if __name__ == "__main__":
    run(globals())
