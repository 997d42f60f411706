"""What the files of checks share: `FILE.py PREFIX...` runs its checks whose names begin so.

Each runs in a process and a folder of its own below the current one, and leaves nothing behind.
Those called `check_` hold for every filesystem, those called `own_check_` for a vault. Those called
`root_check_` make files of several users, so only root runs them, where other users can get at the
filesystem.
"""
import ctypes
import os
import signal
import sys
import tempfile
import traceback

libc = ctypes.CDLL(None, use_errno=True)
libc.fallocate.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_long, ctypes.c_long]


def fails_with(number, call, *arguments):
    try:
        call(*arguments)
    except OSError as failure:
        assert failure.errno == number, failure
        return
    raise AssertionError("no error")


def as_user(call, *arguments, user=65534, group=65534, groups=()):
    """Calls something in a process of another user."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.setgroups(groups)
            os.setresgid(group, group, group)
            os.setresuid(user, user, user)
            call(*arguments)
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def put(name, data):
    with open(name, "wb") as file:
        file.write(data)


def get(name):
    with open(name, "rb") as file:
        return file.read()


def make(name, flags=os.O_RDWR, mode=0o644):
    return os.open(name, os.O_CREAT | flags, mode)


def run_one(check):
    """In a folder of its own; for a process of its own, which never hangs."""
    signal.alarm(300)
    with tempfile.TemporaryDirectory(dir=".") as folder:
        os.chmod(folder, 0o777)
        os.chdir(folder)
        try:
            check()
        finally:
            left = os.listdir(b".")
            os.chdir("..")
    assert left == [], left


def run(checks):
    """Runs those of a file that the command line asks for, and tells which fail."""
    prefixes = tuple(sys.argv[1:])
    named = {name: check for name, check in checks.items() if name.startswith(prefixes)}
    assert named, prefixes
    failed = []
    for name, check in named.items():
        sys.stdout.flush()
        process = os.fork()
        if process == 0:
            status = 1
            try:
                run_one(check)
                status = 0
            except BaseException:
                traceback.print_exc(file=sys.stdout)
            finally:
                sys.stdout.flush()
                os._exit(status)
        status = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
        if status != 0:
            failed.append(name)
            print("%s failed: %d" % (name, status))
    print("%d checks, failed: %s" % (len(named), " ".join(failed) or "none"))
    sys.exit(1 if failed else 0)
