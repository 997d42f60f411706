"""Leaves written pages with the kernel: `hold.py FILE WRITTEN ENDED`.

Writes to the file, opens the pipe WRITTEN, and keeps the file open until the pipe ENDED was.
"""
import os
import sys

name, written, ended = sys.argv[1:]
file = os.open(name, os.O_CREAT | os.O_RDWR)
os.write(file, b"x" * 50000)
open(written, "w").close()
open(ended).close()
