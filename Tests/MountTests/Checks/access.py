"""Checks of who may do what, by modes, access control lists and privileges; see checking.py."""
import errno
import os
import stat
import struct

from checking import as_user, fails_with, get, put, run
from content import NOW, OMIT, set_times

ACCESS, DEFAULT = "system.posix_acl_access", "system.posix_acl_default"
OWNER, USER, GROUP_OWNER, GROUP, MASK, OTHER = 1, 2, 4, 8, 16, 32
NOBODY = 0xFFFFFFFF


def acl(*entries):
    """The value of an access control list, of (tag, permissions[, id]); acl(5)."""
    return struct.pack("<I", 2) + b"".join(
        struct.pack("<HHI", *(entry if len(entry) == 3 else entry + (NOBODY,)))
        for entry in entries)


def may(user, call, *arguments, group=None, groups=()):
    as_user(call, *arguments, user=user, group=group or user, groups=groups)


def may_not(user, number, call, *arguments, group=None, groups=()):
    as_user(fails_with, number, call, *arguments, user=user, group=group or user, groups=groups)


def read(name):
    os.close(os.open(name, os.O_RDONLY))


def write(name):
    os.close(os.open(name, os.O_WRONLY))


def owned(name, mode, user=1000, group=1000):
    put(name, b"content")
    os.chown(name, user, group)
    os.chmod(name, mode)


def root_check_strangers_are_kept_out_of_files():
    owned("f", 0o600)
    may(1000, read, "f")
    for call in (read, write, lambda name: os.truncate(name, 0)):
        may_not(1001, errno.EACCES, call, "f")
    os.chmod("f", 0o644)
    may(1001, read, "f")
    may_not(1001, errno.EACCES, write, "f")
    os.chmod("f", 0o640)
    may(1001, read, "f", groups=[1000])
    may_not(1001, errno.EACCES, read, "f")
    # The owner's bits are the owner's, though others have more.
    os.chmod("f", 0o077)
    may_not(1000, errno.EACCES, read, "f")
    may(1001, read, "f")
    assert get("f") == b"content"
    os.unlink("f")


def root_check_strangers_are_kept_out_of_directories():
    os.mkdir("d")
    owned("d/f", 0o666)
    os.chown("d", 1000, 1000)
    os.chmod("d", 0o700)
    for call in (os.listdir, lambda d: read(d + "/f"), lambda d: os.stat(d + "/f"),
                 lambda d: put(d + "/new", b""), lambda d: os.unlink(d + "/f")):
        may_not(1001, errno.EACCES, call, "d")
    # Searched, not listed; then listed, not searched.
    os.chmod("d", 0o711)
    may(1001, read, "d/f")
    may_not(1001, errno.EACCES, os.listdir, "d")
    os.chmod("d", 0o744)
    may(1001, os.listdir, "d")
    may_not(1001, errno.EACCES, read, "d/f")
    os.chmod("d", 0o755)
    for call in (lambda d: os.mkdir(d + "/new"), lambda d: os.rename(d + "/f", d + "/g"),
                 lambda d: os.symlink("x", d + "/l"), lambda d: os.link(d + "/f", d + "/g")):
        may_not(1001, errno.EACCES, call, "d")
    os.unlink("d/f")
    os.rmdir("d")


def root_check_only_the_owner_changes_attributes():
    owned("f", 0o666)
    for call in (lambda f: os.chmod(f, 0o777), lambda f: os.chown(f, 1001, 1001),
                 lambda f: os.utime(f, (1, 1)), lambda f: os.setxattr(f, ACCESS, acl(
                     (OWNER, 7), (GROUP_OWNER, 7), (OTHER, 7))),
                 lambda f: set_times(f, NOW, OMIT), lambda f: os.setxattr(f, "trusted.t", b"")):
        may_not(1001, errno.EPERM, call, "f")
    # Who may write may set both times to now.
    os.utime("f", (1, 1))
    may(1001, set_times, "f", NOW, NOW)
    assert os.stat("f").st_mtime > 1e9
    os.chmod("f", 0o644)
    may_not(1001, errno.EACCES, set_times, "f", NOW, NOW)
    may_not(1001, errno.EACCES, os.setxattr, "f", "user.a", b"1")
    may_not(1000, errno.EPERM, os.chown, "f", 1001, 1000)
    may(1000, os.chown, "f", 1000, 3000, groups=[3000])
    may_not(1000, errno.EPERM, os.chown, "f", 1000, 4000, groups=[3000])
    os.unlink("f")


def root_check_a_sticky_directory_keeps_names():
    os.mkdir("d")
    os.chmod("d", 0o1777)
    owned("d/f", 0o666)
    may_not(1001, errno.EPERM, os.unlink, "d/f")
    may_not(1001, errno.EPERM, os.rename, "d/f", "d/g")
    may(1000, os.unlink, "d/f")
    os.rmdir("d")


def root_check_a_list_lets_one_in_and_keeps_another_out():
    owned("f", 0o640)
    entries = [(OWNER, 6), (USER, 4, 1001), (USER, 0, 1002), (GROUP_OWNER, 4),
               (GROUP, 6, 5000), (MASK, 7), (OTHER, 4)]
    os.setxattr("f", ACCESS, acl(*entries))
    may(1001, read, "f")
    may_not(1001, errno.EACCES, write, "f")
    # Though others may read, and though he is in a group that may.
    may_not(1002, errno.EACCES, read, "f")
    may_not(1002, errno.EACCES, read, "f", groups=[5000])
    may(1003, write, "f", groups=[5000])
    may(1003, read, "f")
    may_not(1003, errno.EACCES, write, "f")
    os.removexattr("f", ACCESS)
    may_not(1001, errno.EACCES, write, "f")
    os.unlink("f")


def root_check_a_list_on_a_directory():
    os.mkdir("d")
    os.chmod("d", 0o700)
    os.setxattr("d", ACCESS, acl(
        (OWNER, 7), (USER, 7, 1001), (GROUP_OWNER, 0), (MASK, 7), (OTHER, 0)))
    may(1001, put, "d/f", b"x")
    may(1001, os.listdir, "d")
    may_not(1002, errno.EACCES, os.listdir, "d")
    assert os.stat("d/f").st_uid == 1001
    os.unlink("d/f")
    os.rmdir("d")


def root_check_chmod_changes_the_mask():
    owned("f", 0o600)
    os.setxattr("f", ACCESS, acl(
        (OWNER, 6), (USER, 6, 1001), (GROUP_OWNER, 0), (MASK, 6), (OTHER, 0)))
    assert stat.S_IMODE(os.stat("f").st_mode) == 0o660
    may(1001, write, "f")
    os.chmod("f", 0o640)
    may(1001, read, "f")
    may_not(1001, errno.EACCES, write, "f")
    os.chmod("f", 0o600)
    may_not(1001, errno.EACCES, read, "f")
    # The entries are as they were, only the mask is another.
    assert os.getxattr("f", ACCESS) == acl(
        (OWNER, 6), (USER, 6, 1001), (GROUP_OWNER, 0), (MASK, 0), (OTHER, 0))
    os.chmod("f", 0o660)
    may(1001, write, "f")
    # And a list sets the mode.
    os.setxattr("f", ACCESS, acl(
        (OWNER, 4), (USER, 7, 1001), (GROUP_OWNER, 0), (MASK, 5), (OTHER, 1)))
    assert stat.S_IMODE(os.stat("f").st_mode) == 0o451
    os.unlink("f")


def root_check_a_default_list_is_inherited():
    os.mkdir("d")
    os.chmod("d", 0o777)
    entries = ((OWNER, 7), (USER, 7, 1001), (GROUP_OWNER, 5), (MASK, 7), (OTHER, 4))
    os.setxattr("d", DEFAULT, acl(*entries))
    old = os.umask(0o077)
    os.close(os.open("d/f", os.O_CREAT, 0o664))
    os.mkdir("d/e", 0o777)
    os.mkfifo("d/p", 0o600)
    os.umask(old)
    # The list of the directory replaces the umask, and the mode that is asked for restricts it.
    assert os.getxattr("d/f", ACCESS) == acl(
        (OWNER, 6), (USER, 7, 1001), (GROUP_OWNER, 5), (MASK, 6), (OTHER, 4))
    assert stat.S_IMODE(os.stat("d/f").st_mode) == 0o664
    may(1001, write, "d/f")
    may_not(1002, errno.EACCES, write, "d/f")
    # A directory passes it on; a file has none.
    assert os.getxattr("d/e", DEFAULT) == acl(*entries) == os.getxattr("d/e", ACCESS)
    fails_with(errno.ENODATA, os.getxattr, "d/p", DEFAULT)
    assert stat.S_IMODE(os.stat("d/p").st_mode) == 0o600
    os.close(os.open("d/e/g", os.O_CREAT, 0o666))
    may(1001, write, "d/e/g")
    fails_with(errno.EACCES, os.setxattr, "d/f", DEFAULT, acl(*entries))
    for name in ("d/e/g", "d/f", "d/p"):
        os.unlink(name)
    os.rmdir("d/e")
    os.rmdir("d")


def root_check_what_is_no_list_is_refused():
    put("f", b"")
    for value in (acl((OWNER, 7)), acl((OWNER, 7), (GROUP_OWNER, 7), (OTHER, 9)),
                  acl((OWNER, 7), (USER, 7, 1001), (GROUP_OWNER, 7), (OTHER, 7)),
                  acl((OTHER, 7), (GROUP_OWNER, 7), (OWNER, 7)), acl((64, 7))):
        fails_with(errno.EINVAL, os.setxattr, "f", ACCESS, value)
    fails_with(errno.ENODATA, os.getxattr, "f", ACCESS)
    os.unlink("f")


def capability(bits):
    """A value of security.capability: version 2, effective, permitted; capabilities(7)."""
    return struct.pack("<IIIII", 0x02000001, bits, 0, 0, 0)


def root_check_security_and_trusted_attributes():
    put("f", b"x")
    os.setxattr("f", "security.capability", capability(1 << 10))
    os.setxattr("f", "security.other", b"label\0")
    os.setxattr("f", "trusted.overlay.opaque", b"y")
    assert os.getxattr("f", "security.capability") == capability(1 << 10)
    assert os.getxattr("f", "security.other") == b"label\0"
    assert {"security.capability", "security.other", "trusted.overlay.opaque"} <= set(
        os.listxattr("f"))
    may(1000, os.getxattr, "f", "security.other")
    may_not(1000, errno.EPERM, os.setxattr, "f", "security.other", b"")
    may_not(1000, errno.ENODATA, os.getxattr, "f", "trusted.overlay.opaque")
    os.removexattr("f", "security.other")
    os.removexattr("f", "trusted.overlay.opaque")
    fails_with(errno.ENODATA, os.getxattr, "f", "security.other")
    os.unlink("f")


def root_check_a_change_takes_capabilities_away():
    """As set-uid bits: what was trusted was the content of before."""
    def truncate(name):
        os.truncate(name, 1)

    def change(name):
        with open(name, "r+b") as file:
            file.write(b"y")

    def sync_change(name):
        fd = os.open(name, os.O_WRONLY | os.O_SYNC)
        os.write(fd, b"y")
        os.close(fd)

    def empty(name):
        os.close(os.open(name, os.O_WRONLY | os.O_TRUNC))

    def give(name):
        os.chown(name, 1000, 1000)

    kept = []
    for call in (change, sync_change, truncate, empty, give):
        put("f", b"xx")
        os.setxattr("f", "security.capability", capability(1 << 10))
        call("f")
        try:
            os.getxattr("f", "security.capability")
            kept.append(call.__name__)
        except OSError as failure:
            assert failure.errno == errno.ENODATA, failure
        os.unlink("f")
    assert not kept, kept


def root_check_a_copy_onto_a_file_clears_set_user():
    def copy():
        source, target = os.open("g", os.O_RDONLY), os.open("f", os.O_WRONLY)
        assert os.copy_file_range(source, target, 5000) == 5000

    put("g", b"y" * 5000)
    owned("f", 0o6777)
    may(1001, copy)
    assert stat.S_IMODE(os.stat("f").st_mode) == 0o777, oct(os.stat("f").st_mode)
    assert get("f") == b"y" * 5000
    os.unlink("g")
    os.unlink("f")


def root_check_device_nodes_are_stored():
    for name, kind, device in (
            ("null", stat.S_IFCHR, (1, 3)), ("disk", stat.S_IFBLK, (259, 65537)),
            ("zero", stat.S_IFCHR, (0, 0))):
        os.mknod(name, kind | 0o640, os.makedev(*device))
        found = os.stat(name)
        assert stat.S_IFMT(found.st_mode) == kind and stat.S_IMODE(found.st_mode) == 0o640
        assert (os.major(found.st_rdev), os.minor(found.st_rdev)) == device
        os.rename(name, "moved")
        assert os.stat("moved").st_rdev == os.makedev(*device)
        os.unlink("moved")
    os.chmod(".", 0o777)
    may_not(1000, errno.EPERM, os.mknod, "null", stat.S_IFCHR | 0o600, os.makedev(1, 3))


def own_root_check_device_nodes_do_not_work():
    os.mknod("null", stat.S_IFCHR | 0o666, os.makedev(1, 3))
    fails_with(errno.EACCES, read, "null")
    os.unlink("null")


if __name__ == "__main__":
    run(globals())
