"""A fresh ext4 in a loop file for each run: what was created and deleted before on the same ext4 slows
creation by itself several times over."""

import os
import subprocess


class LoopVolume:
    def __init__(self, folder, gibibytes):
        self.image = os.path.join(folder, "image")
        self.mountpoint = os.path.join(folder, "lower")
        self.size = gibibytes << 30
        os.makedirs(self.mountpoint, exist_ok=True)

    def __enter__(self):
        with open(self.image, "wb") as file:
            file.truncate(self.size)
        subprocess.run(["mkfs.ext4", "-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0", self.image], check=True)
        subprocess.run(["mount", "-o", "loop", self.image, self.mountpoint], check=True)
        return self

    def __exit__(self, *_):
        subprocess.run(["umount", self.mountpoint], check=True)
        os.unlink(self.image)

    def used_mebibytes(self):
        os.sync()
        figures = os.statvfs(self.mountpoint)
        return (figures.f_blocks - figures.f_bfree) * figures.f_frsize / (1 << 20)


def drop_caches():
    os.sync()
    with open("/proc/sys/vm/drop_caches", "w") as file:
        file.write("3\n")
