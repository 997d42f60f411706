"""Appends whole pages to files until it is refused: `append.py FOLDER STARTED COUNT`.

Makes STARTED after the first ones, and writes to COUNT how many write(2) took. Whole pages, since
the kernel has to read the rest of a part of one.
"""
import os
import sys
import time

folder, started, count = sys.argv[1:]
files = [os.open(f"{folder}/log{number}", os.O_CREAT | os.O_WRONLY) for number in range(8)]
taken = 0
try:
    while True:
        os.write(files[taken % 8], b"%4095d\n" % taken)
        taken += 1
        if taken == 100:
            open(started, "w").close()
        time.sleep(0.0001)
except OSError:
    with open(count, "w") as result:
        result.write(str(taken))
