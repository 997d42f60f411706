"""A mapping of a file with nothing else of it open, unlike Python's own, which keeps a descriptor.

`mapping.py FILE` keeps one for a minute.
"""
import ctypes
import os
import sys
import time


class Mapping:
    def __init__(self, name):
        libc = ctypes.CDLL(None, use_errno=True)
        libc.mmap.restype = ctypes.c_void_p
        libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + 3 * [ctypes.c_int] + [ctypes.c_long]
        file = os.open(name, os.O_RDONLY)
        prot_read, map_shared = 1, 1
        self.address = libc.mmap(None, 4096, prot_read, map_shared, file, 0)
        assert self.address != ctypes.c_void_p(-1).value, ctypes.get_errno()
        os.close(file)

    def start(self, count):
        """Its first bytes; SIGBUS if they are not to be had any more."""
        return ctypes.string_at(self.address, count)


if __name__ == "__main__":
    mapping = Mapping(sys.argv[1])
    mapping.start(1)
    time.sleep(60)
