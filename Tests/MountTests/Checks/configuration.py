"""configuration.py CHANGE FILE...: changes a configuration as CHANGE says.

Where only a value is changed, the checksum is made good.
"""
import hashlib
import struct
import sys


def changed(page, change):
    page = bytearray(page)
    if change == "version":
        page[8] = 99
    elif change == "memory":
        page[44:48] = struct.pack("<I", 0xFFFFFFFF)  # in KiB
    elif change == "passes":
        page[48:52] = struct.pack("<I", 0x7FFFFFFF)
    elif change == "lanes":
        page[52:56] = struct.pack("<I", 0xFFFFFF)
    elif change == "less":
        page[44:56] = struct.pack("<III", 8, 1, 1)
    elif change == "short":
        return page[:4095]
    elif change == "long":
        return page + bytes(4096)
    elif change == "huge":
        return page
    elif change == "zeros":
        return bytes(len(page))
    elif change == "empty":
        return b""
    elif change == "bit":
        page[100] ^= 4
        return page
    else:
        raise ValueError(change)
    page[4064:] = hashlib.sha256(page[:4064]).digest()
    return page


for name in sys.argv[2:]:
    with open(name, "r+b") as file:
        page = file.read()
        file.seek(0)
        file.truncate()
        file.write(changed(page, sys.argv[1]))
        if sys.argv[1] == "huge":
            file.truncate(1 << 32)
