"""What the workloads read: made once, in memory, outside of what is measured."""

import glob
import os
import subprocess
import tarfile


class Inputs:
    def __init__(self, folder, quick, root):
        self.folder, self.quick, self.root = folder, quick, root
        self.megabytes = 128 if quick else 1024
        self.seconds = 2 if quick else 10
        self.small_files = 2000 if quick else 20000
        self.rows = 1000 if quick else 10000

    def random_file(self):
        path = os.path.join(self.folder, "random")
        if not os.path.exists(path):
            with open(path, "wb") as file:
                for _ in range(self.megabytes):
                    file.write(os.urandom(1 << 20))
        return path

    def archive(self):
        """The kernel's source tree (Debian's linux-source); in the quick run as many entries of /usr/share."""
        path = os.path.join(self.folder, "tree.tar")
        if os.path.exists(path):
            return path
        sources = sorted(glob.glob("/usr/src/linux-source-*.tar.xz"))
        if sources and not self.quick:
            with open(path, "wb") as file:
                subprocess.run(["xz", "-dc", "-T0", sources[-1]], stdout=file, check=True)
        else:
            limit = 3000 if self.quick else 70000
            with tarfile.open(path, "w") as archive:
                for count, found in enumerate(self.some_files()):
                    if count >= limit:
                        break
                    archive.add(found, found.lstrip("/"), recursive=False)
        return path

    @staticmethod
    def some_files():
        for folder, _, names in os.walk("/usr/share"):
            for name in names:
                path = os.path.join(folder, name)
                if os.path.isfile(path) and os.path.getsize(path) < 1 << 20:
                    yield path

    def repository(self):
        """This repository, whole, as something to clone."""
        path = os.path.join(self.folder, "repository")
        if not os.path.exists(path):
            subprocess.run(["git", "clone", "-q", "--bare", "--no-local", self.root, path], check=True)
        return path
