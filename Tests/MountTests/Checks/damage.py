"""damage.py COFFRE VAULT MOUNT PASSWORD: a damaged configuration is told as such, at no cost.

Costs of the password function that stand in it are not paid: the processor time, the address space
and the memory of every command are bounded.
"""
import os
import resource
import shutil
import subprocess
import sys

coffre, vault, mount, password = sys.argv[1:]
copies = ["coffre.conf", "coffre.conf.copy"]
changer = os.path.join(os.path.dirname(__file__), "configuration.py")


def limit():
    resource.setrlimit(resource.RLIMIT_AS, (256 << 20, 256 << 20))


def memory():
    """The most that a command took, in KiB."""
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss


changes = ["memory", "passes", "lanes", "less", "short", "long", "huge", "zeros", "empty", "bit"]
for change in changes:
    for name in copies:
        shutil.copy(os.path.join(vault, name), name)
    paths = [os.path.join(vault, name) for name in copies]
    subprocess.run([sys.executable, changer, change, *paths], check=True)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    for words in (
            ["mount", vault, mount, "--password-file", password],
            # Never a wrong password, whatever the password is.
            ["mount", vault, mount, "--password-command", "echo something else"],
            ["passwd", vault, "--password-file", password, "--new-password-file", password],
            ["info", vault]):
        done = subprocess.run([coffre, *words], preexec_fn=limit, capture_output=True)
        assert done.returncode == 4, (change, words, done)
        assert b"is damaged, in both copies" in done.stderr, (change, words, done)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    assert used < 1, (change, used)
    for name in copies:
        shutil.copy(name, os.path.join(vault, name))
# The 64 MiB that a password costs are not among them; with the true configuration they are.
assert memory() < 48 << 10, memory()
options = ["--password-file", password, "--new-password-file", password]
subprocess.run([coffre, "passwd", vault, *options], check=True)
assert memory() > 64 << 10, memory()
