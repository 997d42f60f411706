"""Checks of holes, of fallocate(2) and of times that are set to now; see checking.py."""
import ctypes
import errno
import mmap
import os
import time

from checking import fails_with, get, libc, make, put, run

NOW, OMIT = (1 << 30) - 1, (1 << 30) - 2


class Time(ctypes.Structure):
    _fields_ = [("seconds", ctypes.c_long), ("nanoseconds", ctypes.c_long)]


def set_times(name, read, written):
    """utimensat(2), with the nanoseconds' special values."""
    times = (Time * 2)(Time(0, read), Time(0, written))
    if libc.utimensat(-100, name.encode(), times, 0) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def check_times_set_to_now():
    put("f", b"")
    old = 10**18
    for read, written in ((NOW, NOW), (NOW, OMIT), (OMIT, NOW), (OMIT, OMIT)):
        os.utime("f", ns=(old, old))
        # The clock of files may be a tick behind.
        before = time.time_ns() - 20_000_000
        set_times("f", read, written)
        after = time.time_ns()
        status = os.stat("f")
        for what, found in ((read, status.st_atime_ns), (written, status.st_mtime_ns)):
            assert before <= found <= after if what == NOW else found == old, (read, written)
    os.unlink("f")


def check_dirty_pages_are_data():
    """Nothing is synced: what is written is with the kernel alone, and is no hole."""
    fd = make("f")
    os.ftruncate(fd, 4 << 20)
    os.pwrite(fd, b"x" * 4096, 1 << 20)
    data = os.lseek(fd, 0, os.SEEK_DATA)
    assert data <= 1 << 20, data
    assert os.lseek(fd, 1 << 20, os.SEEK_DATA) == 1 << 20
    assert os.lseek(fd, 1 << 20, os.SEEK_HOLE) >= (1 << 20) + 4096
    # In what was a hole until now, also behind data that is stored already.
    os.fsync(fd)
    os.pwrite(fd, b"y" * 4096, 2 << 20)
    assert os.lseek(fd, 2 << 20, os.SEEK_DATA) == 2 << 20
    assert os.lseek(fd, 2 << 20, os.SEEK_HOLE) >= (2 << 20) + 4096
    # Past the end of what was stored.
    os.pwrite(fd, b"z", 5 << 20)
    assert os.lseek(fd, 5 << 20, os.SEEK_DATA) == 5 << 20
    assert os.lseek(fd, 5 << 20, os.SEEK_HOLE) == (5 << 20) + 1
    os.close(fd)
    os.unlink("f")


def check_dirty_pages_of_a_mapping_are_data():
    fd = make("f")
    os.ftruncate(fd, 1 << 20)
    memory = mmap.mmap(fd, 1 << 20)
    memory[300000] = 7
    data = os.lseek(fd, 0, os.SEEK_DATA)
    assert data <= 300000, data
    assert os.lseek(fd, 300000, os.SEEK_HOLE) > 300000
    memory.close()
    os.close(fd)
    os.unlink("f")


def check_a_copy_by_holes_is_whole():
    """As cp and tar do it, right after the file was written."""
    fd = make("f")
    # A change of the size would have them written back.
    for index in range(0, 40, 3):
        os.pwrite(fd, bytes([index + 1]) * 5000, index * 65536)
    copy = bytearray(os.fstat(fd).st_size)
    end = 0
    while True:
        try:
            start = os.lseek(fd, end, os.SEEK_DATA)
        except OSError as failure:
            assert failure.errno == errno.ENXIO, failure
            break
        end = os.lseek(fd, start, os.SEEK_HOLE)
        assert end > start
        copy[start:end] = os.pread(fd, end - start, start)
    assert bytes(copy) == get("f")
    os.close(fd)
    os.unlink("f")


def own_check_unsupported_allocation():
    fd = make("f")
    os.write(fd, b"q" * 20480)
    os.fsync(fd)
    # COLLAPSE_RANGE, INSERT_RANGE, UNSHARE_RANGE.
    for mode in (0x08, 0x20, 0x40, 0x41):
        assert libc.fallocate(fd, mode, 4096, 4096) != 0, mode
        assert ctypes.get_errno() == errno.EOPNOTSUPP, (mode, ctypes.get_errno())
    assert get("f") == b"q" * 20480
    os.close(fd)
    os.unlink("f")


def check_allocation_that_makes_no_sense():
    fd = make("f")
    for offset, length in ((0, 0), (-1, 10), (0, -1)):
        assert libc.fallocate(fd, 0, offset, length) != 0
        assert ctypes.get_errno() == errno.EINVAL, (offset, length, ctypes.get_errno())
    os.close(fd)
    fd = os.open("f", os.O_RDONLY)
    assert libc.fallocate(fd, 0, 0, 10) != 0 and ctypes.get_errno() == errno.EBADF
    os.close(fd)
    os.unlink("f")


if __name__ == "__main__":
    run(globals())
