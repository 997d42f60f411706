"""Kill campaign: `kill.py COFFRE FOLDER KILLS SEED`, in a folder with `vault`, `mount` and `password`.

Writers work in the mount and note, outside of it, each write that was acknowledged. The daemon is
killed at a random moment: while they write, while it locks or while it mounts. The next mount must
succeed, and what was acknowledged must be there.
"""
import json
import os
import random
import signal
import subprocess
import sys
import time

import kill_writers

WRITERS = kill_writers.ALL
KINDS = ["write", "write", "lock", "write", "mount", "write"]


class Campaign:
    def __init__(self, tool, folder, seed):
        self.tool = tool
        self.folder = folder
        self.random = random.Random(seed)
        self.kills = {"write": 0, "lock": 0, "mount": 0}
        self.missed = 0
        self.complaints = []
        self.writers = [kind(folder) for kind in WRITERS]

    def command(self, *words):
        return [self.tool, *words]

    def mounting(self):
        return self.command(
            "mount", self.folder + "/vault", self.folder + "/mount",
            "--password-file", self.folder + "/password")

    def mount(self):
        done = subprocess.run(self.mounting(), capture_output=True, text=True, timeout=120)
        if done.returncode != 0:
            self.complaints.append(f"mount: exit {done.returncode}: {done.stderr.strip()}")
            raise SystemExit(self.report())

    def daemon(self):
        """The daemon, held so that no other process is ever killed in its place."""
        output = subprocess.run(
            self.command("status", "--json"), capture_output=True, text=True, timeout=60).stdout
        numbers = [entry["process"] for entry in json.loads(output)
                   if entry["mountPoint"] == self.folder + "/mount"]
        return Process(numbers[0])

    def play(self, kind):
        """One kill. Returns whether the daemon was still there to be killed."""
        if kind == "mount":
            return self.kill_while_mounting()
        self.mount()
        self.check()
        daemon = self.daemon()
        children = [writer.start(self.random.getrandbits(32)) for writer in self.writers]
        if self.random.random() < 0.7:
            self.wait_for_all()
        time.sleep(self.random.uniform(0, 0.8))
        locking = None
        if kind == "lock":
            locking = subprocess.Popen(
                self.command("lock", "--force", self.folder + "/vault"),
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(self.random.uniform(0, 0.15))
        # Without its watcher, which would clear the mount away, the dead mount stays.
        if self.random.random() < 0.3:
            daemon.parent().kill()
        killed = daemon.kill()
        for child in children:
            kill_writers.end(child)
        if locking:
            locking.wait(timeout=60)
        if self.random.random() < 0.5:
            time.sleep(self.random.uniform(0, 0.3))
        return killed

    def wait_for_all(self):
        """Until each writer has written something, or is slow about it."""
        before = [writer.count for writer in self.writers]
        latest = time.monotonic() + 20
        while time.monotonic() < latest and any(
                writer.acknowledged() == count for writer, count in zip(self.writers, before)):
            time.sleep(0.02)

    def kill_while_mounting(self):
        mounting = subprocess.Popen(
            self.mounting(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        daemon = None
        while daemon is None and mounting.poll() is None:
            for supervisor in children_of(mounting.pid):
                for number in children_of(supervisor):
                    daemon = daemon or Process(number)
            time.sleep(0.002)
        time.sleep(self.random.uniform(0, 0.5))
        killed = daemon is not None and daemon.kill()
        mounting.wait(timeout=60)
        return killed

    def check(self):
        for writer in self.writers:
            for complaint in writer.check():
                self.complaints.append(f"after {sum(self.kills.values())} kills: {complaint}")

    def run(self, kills):
        while sum(self.kills.values()) < kills and not self.complaints and self.missed < kills + 9:
            kind = KINDS[sum(self.kills.values()) % len(KINDS)]
            if self.play(kind):
                self.kills[kind] += 1
                if sum(self.kills.values()) % 20 == 0:
                    self.report()
            else:
                self.missed += 1
        if not self.complaints:
            self.mount()
            self.check()
            self.complaints += [f"{writer.name} never wrote" for writer in self.writers if writer.count == 0]
            subprocess.run(self.command("lock", self.folder + "/vault"), check=True, timeout=120)
        return self.report()

    def report(self):
        for complaint in self.complaints:
            print("LOST", complaint)
        kinds = ", ".join(f"{count} at {kind}" for kind, count in self.kills.items())
        print(f"kills: {sum(self.kills.values())} ({kinds}); acknowledged: "
              + ", ".join(f"{writer.name} {writer.count}" for writer in self.writers)
              + f"; losses: {len(self.complaints)}")
        return 1 if self.complaints else 0


class Process:
    def __init__(self, number):
        self.number = number
        self.handle = os.pidfd_open(number)

    def parent(self):
        with open(f"/proc/{self.number}/stat") as file:
            return Process(int(file.read().rpartition(")")[2].split()[1]))

    def kill(self):
        try:
            signal.pidfd_send_signal(self.handle, signal.SIGKILL)
            return True
        except ProcessLookupError:
            return False
        finally:
            os.close(self.handle)


def children_of(number):
    try:
        with open(f"/proc/{number}/task/{number}/children") as file:
            return [int(word) for word in file.read().split()]
    except OSError:
        return []


if __name__ == "__main__":
    tool, folder, kills, seed = sys.argv[1:]
    sys.exit(Campaign(tool, folder, int(seed)).run(int(kills)))
