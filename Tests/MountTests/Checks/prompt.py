"""prompt.py COFFRE VAULT: Ctrl-Z at the prompt of `coffre init`, then fg, as an interactive shell does it."""
import os
import pty
import signal
import sys
import termios
import time

PROMPT = b"New password for the vault: "
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
            os._exit(os.waitstatus_to_exitcode(status) & 0xFF)
        os.tcsetpgrp(0, os.getpgrp())
        assert echoes(0), "a stopped job leaves the terminal as it was"
        # In the background it waits, and leaves the terminal alone.
        os.killpg(job, signal.SIGCONT)
        status = os.waitpid(job, os.WUNTRACED)[1]
        assert os.WIFSTOPPED(status) and os.WSTOPSIG(status) == signal.SIGTTOU, status
        assert echoes(0), "a job in the background leaves the terminal as it was"
        os.tcsetpgrp(0, job)
        os.killpg(job, signal.SIGCONT)


def answer(terminal, prompt, typed):
    """Waits for a prompt and for the end of the echo, then types."""
    seen = b""
    while prompt not in seen:
        seen += os.read(terminal, 4096)
    while echoes(terminal):
        time.sleep(0.01)
    os.write(terminal, typed)
    return seen


def main():
    signal.alarm(60)
    process, terminal = pty.fork()
    if process == 0:
        shell([sys.argv[1], "init", sys.argv[2]])
    output = answer(terminal, PROMPT, b"half a pass\x1a")
    output += answer(terminal, PROMPT, b"a whole password\n")
    output += answer(terminal, AGAIN, b"a whole password\n")
    try:
        while piece := os.read(terminal, 4096):
            output += piece
    except OSError:
        pass  # how a terminal ends
    status = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    assert status == 0, (status, output)
    assert b"pass\n" not in output and b"whole" not in output, output


main()
