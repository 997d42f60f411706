"""Writes pages that can't be written back, then one more: `write_on.py FILE TAKE_AWAY`.

Runs the command TAKE_AWAY before. Ends well if the last write(2) is refused.
"""
import os
import subprocess
import sys
import time

name, take_away = sys.argv[1:]
file = os.open(name, os.O_CREAT | os.O_WRONLY)
subprocess.run(take_away, shell=True, check=True)
for _ in range(20):
    os.write(file, os.urandom(4096))
# By another descriptor, which hears of the failure instead of ours.
subprocess.run(["sync", "-f", os.path.dirname(name)], stderr=subprocess.DEVNULL)
time.sleep(1)
try:
    os.write(file, os.urandom(4096))
except OSError as error:
    print("refused:", error.strerror)
else:
    sys.exit("taken though nothing can be written")
