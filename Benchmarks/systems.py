"""The filesystems that are compared: how each is made, mounted and unmounted over a folder."""

import os
import shutil
import subprocess
import time

PASSWORD = "benchmark"


class System:
    """One filesystem over `store`, shown at `mountpoint`; its daemon stays a child of ours."""

    name = ""
    package = None

    def __init__(self, store, mountpoint, tools):
        self.store, self.mountpoint, self.tools = store, mountpoint, tools
        self.daemon = None

    def create(self):
        os.mkdir(self.store)

    def command(self):
        raise NotImplementedError

    def mount(self):
        os.makedirs(self.mountpoint, exist_ok=True)
        before = os.stat(self.mountpoint).st_dev
        environment = dict(os.environ, CRYFS_FRONTEND="noninteractive", CRYFS_NO_UPDATE_CHECK="true")
        self.daemon = subprocess.Popen(
            self.command(), stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env=environment, cwd="/")
        self.daemon.stdin.write((PASSWORD + "\n").encode())
        self.daemon.stdin.close()
        deadline = time.monotonic() + 120
        while os.stat(self.mountpoint).st_dev == before:
            if self.daemon.poll() is not None or time.monotonic() > deadline:
                status = self.daemon.poll()
                self.daemon.kill()
                self.daemon.wait()
                self.daemon = None
                raise RuntimeError(f"{self.name} did not mount (exit {status})")
            time.sleep(0.002)

    def unmount(self):
        if self.daemon is None:
            return
        for _ in range(50):
            if subprocess.run(["umount", self.mountpoint], stderr=subprocess.DEVNULL).returncode == 0:
                break
            time.sleep(0.1)
        else:
            subprocess.run(["umount", "-l", self.mountpoint], check=False)
        try:
            self.daemon.wait(timeout=60)
        except subprocess.TimeoutExpired:
            self.daemon.kill()
            self.daemon.wait()
        self.daemon = None

    def cpu_seconds(self):
        """User and system time of the daemon so far."""
        if self.daemon is None:
            return 0.0
        with open(f"/proc/{self.daemon.pid}/stat") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def peak_memory(self):
        """The daemon's largest resident set, in MiB."""
        if self.daemon is None:
            return 0.0
        with open(f"/proc/{self.daemon.pid}/status") as file:
            for line in file:
                if line.startswith("VmHWM"):
                    return int(line.split()[1]) / 1024
        return 0.0


class Bare(System):
    """The lower filesystem itself."""

    name = "ext4"

    def create(self):
        super().create()
        os.makedirs(self.mountpoint, exist_ok=True)

    def mount(self):
        subprocess.run(["mount", "--bind", self.store, self.mountpoint], check=True)

    def unmount(self):
        if os.path.ismount(self.mountpoint):
            subprocess.run(["umount", self.mountpoint], check=True)


class Passthrough(System):
    """libfuse itself: see passthrough.c."""

    name = "passthrough"

    def command(self):
        return [self.tools["passthrough"], self.store, self.mountpoint]


class Coffre(System):
    name = "coffre"

    def create(self):
        subprocess.run(
            [self.tools["coffre"], "init", self.store, "--password-file", self.tools["password"]],
            check=True, stdout=subprocess.DEVNULL)

    def command(self):
        return [self.tools["coffre"], "mount", "--foreground", "--lock-after", "never",
                "--allow-other",
                "-o", "noguard", "--password-file", self.tools["password"], self.store, self.mountpoint]


class Gocryptfs(System):
    name, package = "gocryptfs", "gocryptfs"

    def create(self):
        super().create()
        subprocess.run(["gocryptfs", "-q", "-init", "-passfile", self.tools["password"], self.store], check=True,
                       stdout=subprocess.DEVNULL)

    def command(self):
        return ["gocryptfs", "-q", "-fg", "-allow_other", "-passfile", self.tools["password"], self.store, self.mountpoint]


class Securefs(System):
    name, package = "securefs", "securefs"

    def create(self):
        super().create()
        subprocess.run(["securefs", "create", "--pass", PASSWORD, self.store], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def command(self):
        return ["securefs", "mount", "-o", "allow_other", "--pass", PASSWORD, self.store, self.mountpoint]


class Cryfs(System):
    name, package = "cryfs", "cryfs"

    def command(self):
        state = self.tools["state"]
        os.environ.setdefault("CRYFS_LOCAL_STATE_DIR", state)
        return ["cryfs", "-f", "--create-missing-basedir", "--allow-replaced-filesystem", self.store, self.mountpoint,
                "-o", "allow_other"]


class Encfs(System):
    name, package = "encfs", "encfs"

    def command(self):
        return ["encfs", "-f", "--public", "--standard", "--extpass", f"cat {self.tools['password']}", self.store, self.mountpoint]


ALL = [Bare, Passthrough, Coffre, Gocryptfs, Securefs, Cryfs, Encfs]


def available(wanted):
    """The systems asked for whose program is here."""
    chosen = [system for system in ALL if system.name in wanted] if wanted else ALL
    return [system for system in chosen if system.package is None or shutil.which(system.package)]
