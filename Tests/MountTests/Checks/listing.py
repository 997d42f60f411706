"""Checks of listings that change while they are read, and of positions in them; see checking.py."""
import ctypes
import os

from checking import put, run


class Entry(ctypes.Structure):
    _fields_ = [
        ("inode", ctypes.c_ulong), ("position", ctypes.c_long), ("length", ctypes.c_ushort),
        ("kind", ctypes.c_ubyte), ("name", ctypes.c_char * 256),
    ]


libc = ctypes.CDLL(None, use_errno=True)
libc.opendir.restype = ctypes.c_void_p
libc.readdir.restype = ctypes.POINTER(Entry)
libc.telldir.restype = ctypes.c_long
for call in (libc.readdir, libc.telldir, libc.rewinddir, libc.closedir):
    call.argtypes = [ctypes.c_void_p]
libc.seekdir.argtypes = [ctypes.c_void_p, ctypes.c_long]


class Listing:
    """A directory, read entry by entry."""

    def __init__(self, path):
        self.stream = libc.opendir(path.encode())
        assert self.stream

    def next(self):
        entry = libc.readdir(self.stream)
        return entry.contents.name if entry else None

    def rest(self):
        return list(iter(self.next, None))

    def position(self):
        return libc.telldir(self.stream)

    def seek(self, position):
        libc.seekdir(self.stream, position)

    def close(self):
        libc.closedir(self.stream)


def fill(count, prefix="d/old"):
    for index in range(count):
        os.close(os.open("%s%d" % (prefix, index), os.O_CREAT))


def clear():
    for name in os.listdir("d"):
        os.unlink("d/" + name)
    os.rmdir("d")


def check_names_that_stay_are_listed_once():
    """Entries come and go meanwhile, enough of them that the directory changes its shape."""
    os.mkdir("d")
    fill(600)
    names = Listing("d")
    seen = [names.next() for _ in range(100)]
    gone = set()
    for turn in range(20):
        fill(40, "d/new%d-" % turn)
        left = [b"old%d" % index for index in range(turn * 30, turn * 30 + 15)]
        for name in left:
            os.unlink(b"d/" + name)
        gone.update(left)
        seen += [names.next() for _ in range(15)]
    seen += names.rest()
    names.close()
    old = {b"old%d" % index for index in range(600)}
    assert len(seen) == len(set(seen)), "a name is listed twice"
    assert old - gone <= set(seen), "a name is left out"
    assert {b".", b".."} <= set(seen)
    fresh = Listing("d")
    assert set(fresh.rest()) == {b".", b".."} | set(os.listdir(b"d"))
    fresh.close()
    assert len(os.listdir("d")) == 600 - len(gone) + 800
    clear()


def check_positions():
    os.mkdir("d")
    fill(300)
    names = Listing("d")
    places = []
    while True:
        place = names.position()
        name = names.next()
        places.append((place, name))
        if name is None:
            break
    assert len(places) == 303 and len({place for place, _ in places}) == 303
    for place, name in places[::-1][::7] + places[::31]:
        names.seek(place)
        assert names.next() == name, name
    libc.rewinddir(names.stream)
    assert len(names.rest()) == 302
    names.close()
    clear()


def own_check_positions_stay_while_names_go():
    os.mkdir("d")
    fill(300)
    names = Listing("d")
    places = []
    while True:
        places.append((names.position(), names.next()))
        if places[-1][1] is None:
            break
    # Every second name goes; a position then leads to the next name that stayed.
    order = [name for _, name in places[:-1]]
    for name in order[::2]:
        if name not in (b".", b".."):
            os.unlink(b"d/" + name)
    left = set(os.listdir(b"d")) | {b".", b".."}
    for index in range(0, 302, 7):
        names.seek(places[index][0])
        expected = next((name for name in order[index:] if name in left), None)
        assert names.next() == expected, (index, expected)
    names.close()
    clear()


def check_rewinding_sees_new_names():
    os.mkdir("d")
    names = Listing("d")
    assert set(names.rest()) == {b".", b".."}
    put("d/new", b"")
    libc.rewinddir(names.stream)
    assert set(names.rest()) == {b".", b"..", b"new"}
    names.close()
    clear()


if __name__ == "__main__":
    run(globals())
