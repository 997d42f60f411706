"""The writers of the kill campaign, and what each expects of its files after a kill.

A writer notes outside of the mount what was acknowledged: the calls that had returned. Its contents
follow from a number, so that every byte can be checked.
"""
import hashlib
import os
import signal
import sqlite3
import subprocess


def content(name, number, length):
    """Bytes that tell the writer and the number they were written under."""
    start = hashlib.sha256(f"{name} {number}".encode()).digest()
    return (start * (length // 32 + 1))[:length]


def end(child):
    """The mount is dead: a writer ends by itself, or is ended."""
    for _ in range(100):
        number, _ = os.waitpid(child, os.WNOHANG)
        if number:
            return
        signal.sigtimedwait([signal.SIGCHLD], 0.1)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


class Writer:
    name = ""

    def __init__(self, folder):
        self.folder = f"{folder}/mount/{self.name}"
        self.note = f"{folder}/acknowledged-{self.name}"
        self.count = 0
        open(self.note, "a").close()

    def acknowledged(self):
        with open(self.note) as file:
            self.count = len(file.readlines())
        return self.count

    def start(self, seed):
        """Starts a process that writes until it can't."""
        child = os.fork()
        if child:
            return child
        try:
            null = os.open("/dev/null", os.O_RDWR)
            os.dup2(null, 1)
            os.dup2(null, 2)
            notes = os.open(self.note, os.O_WRONLY | os.O_APPEND)
            os.makedirs(self.folder, exist_ok=True)
            number = self.acknowledged()
            self.prepare(number)
            while True:
                self.write(number)
                os.write(notes, b".\n")
                number += 1
        except (OSError, sqlite3.Error, subprocess.CalledProcessError):
            pass
        finally:
            os._exit(0)

    def check(self):
        """Complaints, none if all that was acknowledged is there."""
        count = self.acknowledged()
        try:
            return list(self.find(count)) if count else []
        except (OSError, sqlite3.Error, subprocess.CalledProcessError) as failure:
            return [f"{self.name}: {failure} (acknowledged {count})"]

    def prepare(self, number):
        pass


def write_synced(path, flags, data, offset):
    file = os.open(path, os.O_WRONLY | os.O_CREAT | flags, 0o644)
    try:
        assert os.pwrite(file, data, offset) == len(data)
        os.fsync(file)
    finally:
        os.close(file)


class Append(Writer):
    """Records at the end of one file, each fsynced. The file is never anything but a beginning."""
    name = "append"

    def length(self, number):
        return 1 + number * 7919 % 9000

    def position(self, number):
        return sum(self.length(index) for index in range(number))

    def prepare(self, number):
        self.end = self.position(number)
        write_synced(self.folder + "/log", 0, b"", 0)
        os.truncate(self.folder + "/log", self.end)

    def write(self, number):
        data = content(self.name, number, self.length(number))
        write_synced(self.folder + "/log", 0, data, self.end)
        self.end += len(data)

    def find(self, count):
        with open(self.folder + "/log", "rb") as file:
            found = file.read()
        expected = b"".join(
            content(self.name, number, self.length(number)) for number in range(count + 1))
        if len(found) < self.position(count):
            yield f"append: {len(found)} bytes of {self.position(count)}"
        if found != expected[:len(found)]:
            yield f"append: other bytes among {len(found)}"


class Overwrite(Writer):
    """Records of one file, overwritten in turn, each fsynced."""
    name = "overwrite"
    records = 40
    length = 1500

    def prepare(self, number):
        if number == 0:
            write_synced(self.folder + "/table", os.O_TRUNC, bytes(self.records * self.length), 0)

    def write(self, number):
        data = content(self.name, number, self.length)
        write_synced(self.folder + "/table", 0, data, number * 11 % self.records * self.length)

    def find(self, count):
        with open(self.folder + "/table", "rb") as file:
            found = file.read()
        if len(found) != self.records * self.length:
            yield f"overwrite: {len(found)} bytes"
        newest = [bytes(self.length)] * self.records
        for number in range(max(0, count - self.records), count):
            newest[number * 11 % self.records] = content(self.name, number, self.length)
        # The one under way may be there in part.
        coming = count * 11 % self.records
        after = content(self.name, count, self.length)
        for index, expected in enumerate(newest):
            bytes_found = found[index * self.length:(index + 1) * self.length]
            if bytes_found != expected and not (index == coming and all(
                    byte in pair for byte, *pair in zip(bytes_found, expected, after))):
                yield f"overwrite: record {index} is not what was acknowledged"


class Rename(Writer):
    """A file replaced as editors do: another one, fsynced, renamed over it."""
    name = "rename"
    length = 20000

    def write(self, number):
        data = content(self.name, number, self.length + number % 100)
        write_synced(self.folder + "/new", os.O_TRUNC, data, 0)
        os.rename(self.folder + "/new", self.folder + "/file")

    def find(self, count):
        with open(self.folder + "/file", "rb") as file:
            found = file.read()
        versions = [content(self.name, number, self.length + number % 100)
                    for number in (count - 1, count)]
        if found not in versions:
            yield f"rename: {len(found)} bytes are neither the old file nor the new one"


class Sqlite(Writer):
    """Transactions of one row, in a mode of the journal."""
    mode = ""

    def connect(self):
        base = sqlite3.connect(self.folder + "/base", isolation_level=None)
        base.execute(f"pragma journal_mode={self.mode}")
        base.execute("pragma synchronous=full")
        return base

    def prepare(self, number):
        self.base = self.connect()
        self.base.execute("create table if not exists rows(number integer primary key, data blob)")
        # The one under way when the daemon was killed may be in it.
        self.base.execute("delete from rows where number >= ?", (number,))

    def write(self, number):
        data = content(self.name, number, 200 + number % 3000)
        self.base.execute("insert into rows values(?, ?)", (number, data))

    def find(self, count):
        base = self.connect()
        result = base.execute("pragma integrity_check").fetchall()
        if result != [("ok",)]:
            yield f"{self.name}: {result}"
        rows = dict(base.execute("select number, data from rows"))
        base.close()
        for number in range(count):
            if rows.get(number) != content(self.name, number, 200 + number % 3000):
                yield f"{self.name}: transaction {number} of {count} is lost"
                return


class SqliteWal(Sqlite):
    name = "sqlite-wal"
    mode = "wal"


class SqliteRollback(Sqlite):
    name = "sqlite-rollback"
    mode = "delete"


class Git(Writer):
    """Commits, fsynced: git leaves that out by itself."""
    name = "git"

    def git(self, *words):
        settings = ["-c", "core.fsync=all", "-c", "user.name=t", "-c", "user.email=t@t",
                    "-c", "gc.auto=0"]
        return subprocess.run(
            ["git", "-C", self.folder, *settings, *words], check=True, capture_output=True,
            text=True).stdout

    def prepare(self, number):
        self.unlock()
        if number == 0:
            self.git("init", "-q")
            # Not all that it makes is synced, and nobody was told that it would be.
            for folder, _, names in os.walk(self.folder + "/.git"):
                for name in names:
                    with open(f"{folder}/{name}", "rb") as file:
                        os.fsync(file.fileno())

    def unlock(self):
        """What a git that was cut short leaves, as it says itself, is to be removed by hand."""
        for folder, _, names in os.walk(self.folder + "/.git"):
            for name in names:
                if name.endswith(".lock"):
                    os.remove(f"{folder}/{name}")

    def write(self, number):
        write_synced(f"{self.folder}/file{number % 7}", os.O_TRUNC,
                     content(self.name, number, 100 + number % 5000), 0)
        self.git("add", ".")
        self.git("commit", "-q", "--allow-empty", "-m", f"number {number}")

    def find(self, count):
        self.git("fsck", "--full", "--strict")
        subjects = set(self.git("log", "--format=%s").splitlines())
        for number in range(count):
            if f"number {number}" not in subjects:
                yield f"git: commit {number} of {count} is lost"


ALL = [Append, Overwrite, Rename, SqliteWal, SqliteRollback, Git]
