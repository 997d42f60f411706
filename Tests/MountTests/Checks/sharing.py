"""Checks of locks and mappings that several processes share; see checking.py."""
import errno
import fcntl
import mmap
import os
import struct
import subprocess
import time

from checking import fails_with, get, make, put, run

OFD_GETLK, OFD_SETLK, OFD_SETLKW = 36, 37, 38


def lock(kind, start=0, length=0):
    """A struct flock."""
    return struct.pack("hhqqi4x", kind, os.SEEK_SET, start, length, 0)


def child(call):
    """Calls something in a process of its own; its number."""
    process = os.fork()
    if process == 0:
        status = 1
        try:
            call()
            status = 0
        finally:
            os._exit(status)
    return process


def wait(process):
    assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 0


def check_open_file_description_locks():
    first, second = make("f"), make("f")
    fcntl.fcntl(first, OFD_SETLK, lock(fcntl.F_WRLCK, 0, 100))
    fails_with(errno.EAGAIN, fcntl.fcntl, second, OFD_SETLK, lock(fcntl.F_WRLCK, 50, 100))
    fcntl.fcntl(second, OFD_SETLK, lock(fcntl.F_WRLCK, 100, 100))
    found = fcntl.fcntl(second, OFD_GETLK, lock(fcntl.F_RDLCK, 0, 100))
    kind, _, start, length, owner = struct.unpack("hhqqi4x", found)
    assert (kind, start, length, owner) == (fcntl.F_WRLCK, 0, 100, -1)
    # A lock of the process is another's, too.
    fails_with(errno.EAGAIN, fcntl.lockf, second, fcntl.LOCK_EX | fcntl.LOCK_NB, 10, 0)
    os.close(first)
    fcntl.fcntl(second, OFD_SETLK, lock(fcntl.F_WRLCK, 0, 100))
    os.close(second)
    os.unlink("f")


def check_a_lock_waits_for_the_other_process():
    for operation in ("POSIX", "OFD", "flock"):
        fd = make("f")

        def take(file):
            if operation == "flock":
                return fcntl.flock(file, fcntl.LOCK_EX)
            if operation == "OFD":
                return fcntl.fcntl(file, OFD_SETLKW, lock(fcntl.F_WRLCK))
            return fcntl.lockf(file, fcntl.LOCK_EX)

        def waiting():
            os.close(fd)  # a lock of an open file is there as long as anybody has it open
            file = os.open("f", os.O_RDWR)
            take(file)
            assert os.pread(file, 5, 0) == b"first"
            os.pwrite(file, b"other", 0)

        take(fd)
        process = child(waiting)
        time.sleep(0.1)
        assert os.waitpid(process, os.WNOHANG) == (0, 0), "it does not wait"
        os.pwrite(fd, b"first", 0)
        os.close(fd)
        wait(process)
        assert get("f") == b"other"
        os.unlink("f")


def check_blocked_locks_stall_nobody():
    fd = make("f")
    fcntl.flock(fd, fcntl.LOCK_EX)
    # More of them than any daemon has threads.
    waiting = [subprocess.Popen(["flock", "f", "true"]) for _ in range(40)]
    while len(blocked(waiting)) < 40:
        time.sleep(0.01)
    for index in range(50):
        put("g%d" % index, b"x" * 5000)
        assert get("g%d" % index) == b"x" * 5000
    os.sync()
    assert len(os.listdir(".")) == 51
    for index in range(50):
        os.unlink("g%d" % index)
    assert len(blocked(waiting)) == 40
    os.close(fd)
    assert [process.wait() for process in waiting] == [0] * 40
    os.unlink("f")


def blocked(processes):
    """Those of them that wait for a lock."""
    with open("/proc/locks") as table:
        numbers = {int(line.split()[5]) for line in table if " -> " in line}
    return [process for process in processes if process.pid in numbers]


def check_mapping_of_two_processes():
    put("f", b"\0" * 20000)
    fd = os.open("f", os.O_RDWR)
    memory = mmap.mmap(fd, 20000)
    os.close(fd)

    def other():
        file = os.open("f", os.O_RDWR)
        mine = mmap.mmap(file, 20000)
        deadline = time.monotonic() + 10
        # Neither of them syncs: both see one page.
        for turn in range(1, 101):
            while mine[9000] != turn:
                assert time.monotonic() < deadline, "the other's store is not seen"
            mine[9001] = turn
        mine[0:4] = b"mine"

    process = child(other)
    deadline = time.monotonic() + 10
    for turn in range(1, 101):
        memory[9000] = turn
        while memory[9001] != turn:
            assert time.monotonic() < deadline, "the other's store is not seen"
    wait(process)
    assert memory[0:4] == b"mine"
    memory[19000:19005] = b"yours"
    memory.close()
    content = get("f")
    assert content[0:4] == b"mine" and content[19000:19005] == b"yours"
    assert content[9000:9002] == bytes([100, 100])
    os.unlink("f")


def check_mapping_and_calls_see_each_other():
    put("f", b"a" * 10000)
    fd = os.open("f", os.O_RDWR)
    memory = mmap.mmap(fd, 10000)
    memory[5000:5004] = b"page"
    assert os.pread(fd, 4, 5000) == b"page"
    os.pwrite(fd, b"call", 6000)
    assert memory[6000:6004] == b"call"
    os.ftruncate(fd, 5002)
    os.ftruncate(fd, 10000)
    assert memory[5000:5004] == b"pa\0\0" and memory[6000:6004] == b"\0" * 4
    memory.close()
    os.close(fd)
    os.unlink("f")


if __name__ == "__main__":
    run(globals())
