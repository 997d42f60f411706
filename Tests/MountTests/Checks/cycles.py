"""Locks and unlocks under load: `cycles.py COFFRE COUNT`, in a folder with vault, mount, password.

In each cycle programs write, read, rename and dirty a mapping while the vault is locked over their heads. What
they were told is written has to be there in the next cycle; nothing may be left at the end.
"""
import json
import mmap
import os
import re
import subprocess
import sys
import time

coffre, count = sys.argv[1], int(sys.argv[2])
mount = os.path.abspath("mount")
state = os.path.abspath("told")


def run(*words, check=True):
    return subprocess.run([coffre, *words], check=check, capture_output=True, text=True, timeout=120)


class Writer:
    """A child that does one thing over and over, and notes how often it was told that it is done."""

    def __init__(self, name):
        self.name = name
        self.told = f"{state}/{name}"

    def start(self):
        self.child = os.fork()
        if self.child == 0:
            os.chdir(mount)
            self.note = os.open(self.told, os.O_RDWR | os.O_CREAT)
            self.round = int(os.pread(self.note, 20, 0) or b"0")
            try:
                self.work()
            except (OSError, ValueError):
                pass
            os._exit(0)

    def done(self):
        self.round += 1
        os.pwrite(self.note, b"%020d" % self.round, 0)

    def end(self):
        """Waits for it; a mapping that is gone ends it by SIGBUS."""
        return os.waitpid(self.child, 0)[1]

    def count(self):
        with open(self.told, "rb") as file:
            return int(file.read() or b"0")


class Appender(Writer):
    """A line for each write(2): it has as many as were taken, perhaps one more."""

    def work(self):
        file = os.open("append", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        while True:
            os.write(file, b"%020d\n" % self.round)
            self.done()

    def check(self):
        with open("mount/append", "rb") as file:
            lines = file.read().split(b"\n")[:-1]
        # One that was taken and not noted is written again with the same number.
        numbers = sorted({int(line) for line in lines})
        assert numbers == list(range(len(numbers))), "a line is missing"
        assert self.count() <= len(numbers) <= self.count() + 1, (self.count(), len(numbers))


class Renamer(Writer):
    """A new file over the old one, as editors save."""

    def work(self):
        while True:
            with open("saved.new", "wb") as file:
                file.write(b"%020d" % (self.round + 1))
                file.flush()
                os.fsync(file.fileno())
            os.rename("saved.new", "saved")
            self.done()

    def check(self):
        with open("mount/saved", "rb") as file:
            found = int(file.read())
        assert self.count() <= found <= self.count() + 1, (self.count(), found)


class Mapper(Writer):
    """Dirty pages of a mapping; those that msync(2) has taken have to be there."""

    def work(self):
        file = os.open("mapped", os.O_RDWR | os.O_CREAT)
        os.ftruncate(file, 1 << 20)
        memory = mmap.mmap(file, 1 << 20)
        while True:
            for page in range(0, 1 << 20, 4096):
                memory[page:page + 20] = b"%020d" % (self.round + 1)
            memory.flush()
            self.done()

    def check(self):
        with open("mount/mapped", "rb") as file:
            data = file.read()
        for page in range(0, 1 << 20, 4096):
            assert int(data[page:page + 20]) >= self.count(), (page, self.count())


class Reader(Writer):
    """Reads and lists what the others write."""

    def work(self):
        while True:
            for name in os.listdir("."):
                if name != "saved.new":
                    with open(name, "rb") as file:
                        file.read()
            self.done()

    def check(self):
        pass


def processes():
    """Those of the mount, by its path on their command lines, or of the daemon's number."""
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open(f"/proc/{entry}/cmdline", "rb") as file:
                    words = file.read()
                exe = os.readlink(f"/proc/{entry}/exe")
            except OSError:
                continue
            if exe == os.path.realpath(coffre) and mount.encode() in words:
                found.append(entry)
    return found


def is_mounted():
    with open("/proc/self/mountinfo") as table:
        return f" {mount} " in table.read()


os.makedirs(state, exist_ok=True)
writers = [Appender("appender"), Renamer("renamer"), Mapper("mapper"), Reader("reader")]
daemons = []
for cycle in range(count):
    run("mount", "vault", "mount", "--password-file", "password")
    if cycle > 0:
        for writer in writers:
            writer.check()
    daemons.append(json.loads(run("status", "--json").stdout)[0]["process"])
    before = [writer.count() if cycle > 0 else 0 for writer in writers]
    for writer in writers:
        writer.start()
    deadline = time.monotonic() + 60
    while not all(
            os.path.exists(writer.told) and writer.count() > start
            for writer, start in zip(writers, before)):
        assert time.monotonic() < deadline, "a writer does not come on"
        time.sleep(0.01)
    refused = run("lock", "vault", check=False)
    assert refused.returncode == 25, (refused.returncode, refused.stderr)
    assert re.search(r"process \d+ \(python3", refused.stderr), refused.stderr
    assert is_mounted(), "refused, and locked"
    start = time.monotonic()
    run("lock", "--force", "vault")
    assert time.monotonic() - start < 60
    assert not is_mounted(), "locked, and mounted"
    for writer in writers:
        writer.end()
run("mount", "vault", "mount", "--password-file", "password")
for writer in writers:
    writer.check()
run("lock", "vault")
run("verify", "vault", "--password-file", "password")
assert not processes(), processes()
assert not [daemon for daemon in daemons if os.path.exists(f"/proc/{daemon}")]
left = [name for name in os.listdir("coffre") if not name.endswith(".last")]
assert not left, left
assert not os.listdir("mount"), os.listdir("mount")
print(f"cycles: {count}; told: " + ", ".join(f"{writer.name} {writer.count()}" for writer in writers))
