"""Checks of open(2) with its flags, of what is synced, and of appending; see checking.py."""
import errno
import mmap
import os
import stat
import subprocess
import sys

from checking import fails_with, get, make, put, run


def start(program, *arguments):
    return subprocess.Popen([sys.executable, "-c", program, *arguments])


def check_exclusive_creation():
    put("f", b"kept")
    os.symlink("nowhere", "l")
    for name in ("f", "l"):
        fails_with(errno.EEXIST, os.open, name, os.O_CREAT | os.O_EXCL | os.O_WRONLY)
    assert get("f") == b"kept" and not os.path.exists("nowhere")
    os.unlink("f")
    os.unlink("l")


def check_exclusive_creation_has_one_winner():
    program = (
        "import os\nwon = 0\nfor i in range(50):\n"
        "  try: os.close(os.open('f%d' % i, os.O_CREAT | os.O_EXCL)); won += 1\n"
        "  except FileExistsError: pass\n"
        "print(won)\n"
    )
    processes = [
        subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) for _ in range(4)
    ]
    won = [int(process.communicate()[0]) for process in processes]
    assert sum(won) == 50, won
    for index in range(50):
        os.unlink("f%d" % index)


def check_no_follow():
    put("f", b"")
    os.symlink("f", "l")
    fails_with(errno.ELOOP, os.open, "l", os.O_RDONLY | os.O_NOFOLLOW)
    fails_with(errno.ELOOP, os.open, "l", os.O_CREAT | os.O_WRONLY | os.O_NOFOLLOW)
    os.close(os.open("f", os.O_RDONLY | os.O_NOFOLLOW))
    fd = os.open("l", os.O_PATH | os.O_NOFOLLOW)
    assert stat.S_ISLNK(os.fstat(fd).st_mode)
    fails_with(errno.EBADF, os.read, fd, 1)
    os.close(fd)
    os.unlink("l")
    os.unlink("f")


def check_directory_flag():
    put("f", b"")
    os.mkdir("d")
    fails_with(errno.ENOTDIR, os.open, "f", os.O_RDONLY | os.O_DIRECTORY)
    fails_with(errno.ENOTDIR, os.open, "f/x", os.O_RDONLY)
    fails_with(errno.EISDIR, os.open, "d", os.O_WRONLY)
    fails_with(errno.EISDIR, os.open, "d", os.O_CREAT | os.O_RDWR)
    fd = os.open("d", os.O_RDONLY | os.O_DIRECTORY)
    fails_with(errno.EISDIR, os.read, fd, 1)
    os.close(fd)
    os.rmdir("d")
    os.unlink("f")


def check_synchronous_handles():
    for flag in (os.O_SYNC, os.O_DSYNC):
        put("f", b"x" * 10000)
        fd = make("f", os.O_RDWR | flag)
        assert os.pwrite(fd, b"y" * 5000, 3000) == 5000
        assert get("f") == b"x" * 3000 + b"y" * 5000 + b"x" * 2000
        os.close(fd)
        os.unlink("f")


def check_every_kind_of_sync():
    fd = make("f", os.O_WRONLY)
    os.write(fd, b"x" * 5000)
    os.fdatasync(fd)
    reader = os.open("f", os.O_RDONLY)
    os.fdatasync(reader)
    os.fsync(reader)
    folder = os.open(".", os.O_RDONLY)
    os.fsync(folder)
    os.fdatasync(folder)
    for number in (fd, reader, folder):
        os.close(number)
    os.unlink("f")


def check_append_knows_no_offset():
    put("f", b"one")
    fd = os.open("f", os.O_RDWR | os.O_APPEND)
    os.lseek(fd, 0, os.SEEK_SET)
    os.write(fd, b"two")
    os.pwrite(fd, b"three", 0)  # Linux appends here, see pwrite(2)
    assert get("f") == b"onetwothree"
    os.truncate("f", 2)
    os.write(fd, b"four")
    os.ftruncate(fd, 4)
    os.write(fd, b"five")
    assert get("f") == b"onfofive"
    os.close(fd)
    os.unlink("f")


def check_append_only_handle_beside_another():
    append = make("f", os.O_WRONLY | os.O_APPEND)
    other = os.open("f", os.O_RDWR)
    fails_with(errno.EBADF, os.read, append, 1)
    os.write(append, b"a" * 5000)
    os.pwrite(other, b"b" * 100, 8000)
    os.write(append, b"c" * 5000)
    assert os.pread(other, 20000, 0) == (
        b"a" * 5000 + b"\0" * 3000 + b"b" * 100 + b"c" * 5000)
    os.close(append)
    os.close(other)
    os.unlink("f")


def check_synchronous_append_from_processes():
    program = (
        "import os, sys\nfd = os.open('f', os.O_WRONLY | os.O_APPEND | os.O_DSYNC)\n"
        "for i in range(20): os.write(fd, sys.argv[1].encode() * 999 + b'\\n')\n"
    )
    put("f", b"")
    processes = [start(program, letter) for letter in "abcd"]
    assert [process.wait() for process in processes] == [0] * 4
    lines = get("f").split(b"\n")[:-1]
    # Each write is whole, and none is over another.
    assert sorted(lines) == sorted(bytes([b]) * 999 for b in b"abcd" for _ in range(20))
    os.unlink("f")


def check_direct_io_beside_the_page_cache():
    try:
        direct = make("f", os.O_RDWR | os.O_DIRECT)
    except OSError as failure:
        assert failure.errno == errno.EINVAL  # a filesystem without it, such as tmpfs
        os.unlink("f")
        return
    memory = mmap.mmap(-1, 8192)
    cached = os.open("f", os.O_RDWR)
    os.write(cached, b"c" * 16384)
    assert os.preadv(direct, [memory], 4096) == 8192 and memory[:] == b"c" * 8192
    memory[:] = b"d" * 8192
    assert os.pwritev(direct, [memory], 4096) == 8192
    assert os.pread(cached, 16384, 0) == b"c" * 4096 + b"d" * 8192 + b"c" * 4096
    assert os.pwritev(direct, [memory], 16384) == 8192
    assert os.fstat(cached).st_size == 24576
    os.close(direct)
    os.close(cached)
    os.unlink("f")


if __name__ == "__main__":
    run(globals())
