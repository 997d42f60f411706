"""prompt.py COFFRE SCENARIO PATHS...: the password prompts of `coffre`, at a terminal."""
import os
import pty
import signal
import subprocess
import sys
import termios
import time

NEW = b"New password for the vault: "
OLD = b"Password for the vault: "
OTHER = b"New password: "
AGAIN = b", once more: "


def echoes(tty):
    return bool(termios.tcgetattr(tty)[3] & termios.ECHO)


def shell(command):
    """Runs a job in the foreground, and puts it there again when it stops; its status is ours."""
    signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    job = os.fork()
    if job == 0:
        os.setpgid(0, 0)
        os.tcsetpgrp(0, os.getpid())
        signal.signal(signal.SIGTTOU, signal.SIG_DFL)
        os.execv(command[0], command)
    while True:
        status = os.waitpid(job, os.WUNTRACED)[1]
        if not os.WIFSTOPPED(status):
            os._exit(leave(os.waitstatus_to_exitcode(status)))
        os.tcsetpgrp(0, os.getpgrp())
        assert echoes(0), "a stopped job leaves the terminal as it was"
        # In the background it waits, and leaves the terminal alone.
        os.killpg(job, signal.SIGCONT)
        status = os.waitpid(job, os.WUNTRACED)[1]
        assert os.WIFSTOPPED(status) and os.WSTOPSIG(status) == signal.SIGTTOU, status
        assert echoes(0), "a job in the background leaves the terminal as it was"
        os.tcsetpgrp(0, job)
        os.killpg(job, signal.SIGCONT)


def leave(status):
    """The job's status, where it left the terminal as it was; as a shell tells it."""
    os.tcsetpgrp(0, os.getpgrp())
    if not echoes(0):
        return 99
    return 128 - status if status < 0 else status


class Job:
    """`coffre` with some words, at a terminal of its own."""

    def __init__(self, *words):
        self.process, self.terminal = pty.fork()
        self.output = b""
        self.read = 0
        if self.process == 0:
            shell([sys.argv[1], *words])

    def answer(self, prompt, typed):
        """Waits for a prompt and for the end of the echo, then types."""
        while prompt not in self.output[self.read:]:
            self.output += os.read(self.terminal, 4096)
        self.read = len(self.output)
        while echoes(self.terminal):
            time.sleep(0.01)
        os.write(self.terminal, typed)

    def end(self):
        """Its status."""
        try:
            while piece := os.read(self.terminal, 4096):
                self.output += piece
        except OSError:
            pass  # how a terminal ends
        return os.waitstatus_to_exitcode(os.waitpid(self.process, 0)[1])


def stopped(vault):
    """Ctrl-Z at the prompt of `init`, then fg, as an interactive shell does it."""
    job = Job("init", vault)
    job.answer(NEW, b"half a pass\x1a")
    job.answer(NEW, b"a whole password\n")
    job.answer(AGAIN, b"a whole password\n")
    status = job.end()
    assert status == 0, (status, job.output)
    assert b"pass\n" not in job.output and b"whole" not in job.output, job.output


def interrupted(vault):
    """Ctrl-C at the prompt: the process ends by it, and the terminal echoes again."""
    for typed in (b"\x03", b"half a pass\x03"):
        job = Job("init", vault)
        job.answer(NEW, typed)
        status = job.end()
        assert status == 128 + signal.SIGINT, (status, job.output)
        assert b"half" not in job.output and not os.path.exists(vault), job.output


def different(vault):
    """Two that are not the same make no vault."""
    job = Job("init", vault)
    job.answer(NEW, b"a whole password\n")
    job.answer(AGAIN, b"a whole passwort\n")
    status = job.end()
    assert status == 16 and b"the two passwords differ" in job.output, (status, job.output)
    assert b"whole" not in job.output and not os.path.exists(vault), job.output


def changed(vault, mount, password):
    """`passwd` asks for the old one once, for the new one twice; `mount` once."""
    with open(password, "rb") as file:
        old = file.read()
    job = Job("passwd", vault)
    job.answer(OLD, old)
    job.answer(OTHER, b"new words\n")
    job.answer(AGAIN, b"other words\n")
    status = job.end()
    assert status == 16 and b"the two passwords differ" in job.output, (status, job.output)
    job = Job("passwd", vault)
    job.answer(OLD, old)
    job.answer(OTHER, b"new words\n")
    job.answer(AGAIN, b"new words\n")
    status = job.end()
    assert status == 0 and b"is changed" in job.output, (status, job.output)
    assert b"words" not in job.output and old.strip() not in job.output, job.output
    job = Job("mount", vault, mount)
    job.answer(OLD, old)
    assert job.end() == 3, job.output
    job = Job("mount", vault, mount)
    job.answer(OLD, b"new words\n")
    assert job.end() == 0 and os.path.ismount(mount), job.output
    subprocess.run([sys.argv[1], "lock", vault], check=True)


signal.alarm(240)
globals()[sys.argv[2]](*sys.argv[3:])
