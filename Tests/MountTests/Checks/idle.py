"""What keeps a vault open that locks itself: `idle.py COFFRE CASE`, in a folder with vault, mount, password.

Each case is what a program does with the vault, for as long as it takes. Prints `locked` or `open`, and why.
"""
import ctypes
import json
import os
import subprocess
import sys
import time

import mapping

LIMIT = 3
coffre, case = sys.argv[1:]
mount = os.path.abspath("mount")


def run(*words):
    return subprocess.run([coffre, *words], check=True, capture_output=True, text=True).stdout


def is_mounted():
    with open("/proc/self/mountinfo") as table:
        return any(line.split()[4] == mount for line in table)


def hold():
    """Something that is kept and not used; returns what shows that it is worth nothing after the lock."""
    if case == "handle":
        file = open("mount/file", "rb", buffering=0)
        file.read(100)
        return lambda: file.seek(0) or file.read(100)
    if case == "folder":
        os.chdir("mount")
        return lambda: os.listdir(".")
    if case == "mapping":
        mapped = mapping.Mapping("mount/file")
        assert mapped.start(7) == b"content"
        return lambda: touch(mapped)
    if case == "watcher":
        libc = ctypes.CDLL(None, use_errno=True)
        watch = libc.inotify_init1(0)
        everything = 0xFFF
        for path in (b"mount", b"mount/file"):
            assert libc.inotify_add_watch(watch, path, everything) >= 0
    return None


def touch(mapped):
    """A page of a mapping, in a child, since what it gets is a signal."""
    child = os.fork()
    if child == 0:
        os._exit(0 if mapped.start(7) == b"content" else 1)
    if os.WIFSIGNALED(os.waitpid(child, 0)[1]):
        raise OSError("SIGBUS")


def use(mapped):
    """What is done again and again."""
    if case == "reader":
        with open("mount/file", "rb") as file:
            file.read(100)
    if case == "mapping-reader":
        touch(mapped)
    if case == "monitor":
        subprocess.run(["stat", "--cached=never", mount], check=False, capture_output=True)
        subprocess.run(["stat", "-f", mount], check=False, capture_output=True)


with open("mount/file", "w") as file:
    file.write("content\n" * 4096)
held = hold()
mapped = mapping.Mapping("mount/file") if case == "mapping-reader" else None
limit = 4 * LIMIT if case in ("reader", "mapping-reader") else LIMIT + 5
start = time.monotonic()
refused = False
while is_mounted() and time.monotonic() - start < limit:
    try:
        if not refused:
            use(mapped)
    except OSError:
        # A lock is on its way: nothing is served any more, and the mount is about to go.
        refused = True
    time.sleep(0.2)
took = time.monotonic() - start
if is_mounted():
    print("open")
    sys.exit()
assert took > LIMIT - 0.5, f"locked after {took} s"
if held:
    try:
        held()
    except OSError:
        pass
    else:
        sys.exit("what was held is worth something after the lock")
os.chdir(os.path.dirname(mount))
for _ in range(100):
    status = json.loads(run("status", "--json"))
    if not any(entry["mounted"] for entry in status):
        break
    time.sleep(0.1)
print("locked", status[0]["lastLock"]["cause"])
