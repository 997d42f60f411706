"""Plays what happens to login sessions, on a mocked logind: `login.py COMMAND [WORD...]`.

The bus is that of DBUS_SYSTEM_BUS_ADDRESS. A session is named by its id.
"""
import sys
import time

import dbus
import dbus.lowlevel

LOGIN = "org.freedesktop.login1"
ROOT = "/org/freedesktop/login1"
MANAGER = LOGIN + ".Manager"
SESSION = LOGIN + ".Session"
MOCK = "org.freedesktop.DBus.Mock"
PROPERTIES = "org.freedesktop.DBus.Properties"

bus = dbus.SystemBus()


def manager(interface):
    return dbus.Interface(bus.get_object(LOGIN, ROOT), interface)


def path(session):
    return ROOT + "/session/" + session


def session(name, interface):
    return dbus.Interface(bus.get_object(LOGIN, path(name)), interface)


def setup(user, *known):
    """Sessions c1 and c3 of a user, m1 of that user's manager, and c2 of another; how whoever mounts is known: by
    `pid` as part of c1, or of the `manager`; as a `user`, whose `display` is c1."""
    for _ in range(200):
        if bus.name_has_owner(LOGIN):
            break
        time.sleep(0.05)
    mock = manager(MOCK)
    for name, owner in ("c1", int(user)), ("c2", 4242), ("c3", int(user)):
        mock.AddSession(name, "seat0", dbus.UInt32(owner), "user" + name, True)
    mock.AddSession("m1", "seat0", dbus.UInt32(user), "userm1", True)
    session("m1", MOCK).UpdateProperties(SESSION, {"Class": "manager"})
    for word, name in ("pid", "c1"), ("manager", "m1"):
        if word in known:
            mock.AddMethod(MANAGER, "GetSessionByPID", "u", "o", 'ret = "%s"' % path(name))
    if "display" in known:
        place = dbus.Struct(("c1", dbus.ObjectPath(path("c1"))), signature="so")
        # UpdateProperties takes no structure.
        found = bus.get_object(LOGIN, ROOT + "/user/" + user)
        dbus.Interface(found, PROPERTIES).Set(LOGIN + ".User", "Display", place)
    if "user" in known:
        mock.AddMethod(MANAGER, "GetUserByPID", "u", "o", 'ret = "%s/user/%s"' % (ROOT, user))
    if "no-inhibit" in known:
        mock.AddMethod(MANAGER, "Inhibit", "ssss", "h", "raise dbus.exceptions.DBusException('no')")


def inhibitors():
    return [str(entry[0]) for entry in manager(MANAGER).ListInhibitors()]


def clients():
    """The numbers of the processes on the bus."""
    driver = dbus.Interface(bus.get_object("org.freedesktop.DBus", "/org/freedesktop/DBus"), "org.freedesktop.DBus")
    names = [name for name in driver.ListNames() if name.startswith(":")]
    return sorted({int(driver.GetConnectionUnixProcessID(name)) for name in names})


def emit(name, signature, *arguments):
    manager(MOCK).EmitSignal(MANAGER, name, signature, dbus.Array(arguments, signature="v"))


def happen(event, *words):
    if event == "lock":
        session(words[0], SESSION).Lock()
    elif event == "hint":
        session(words[0], SESSION).SetLockedHint(True)
    elif event == "unlock":
        session(words[0], SESSION).Unlock()
        session(words[0], SESSION).SetLockedHint(False)
    elif event == "idle-hint":
        session(words[0], MOCK).UpdateProperties(SESSION, {"IdleHint": True})
    elif event == "closing":
        session(words[0], MOCK).UpdateProperties(SESSION, {"State": "closing"})
    elif event == "removed":
        emit("SessionRemoved", "so", words[0], dbus.ObjectPath(path(words[0])))
    elif event == "user-removed":
        emit("UserRemoved", "uo", dbus.UInt32(words[0]), dbus.ObjectPath(ROOT + "/user/" + words[0]))
    elif event == "sleep":
        emit("PrepareForSleep", "b", True)
    elif event == "woken":
        emit("PrepareForSleep", "b", False)
    elif event == "shutdown":
        emit("PrepareForShutdown", "b", True)
    else:
        sys.exit("no event " + event)


def forge():
    """Sends everybody what logind would send, from somebody who is not logind."""
    for name in bus.list_names():
        if not name.startswith(":") or name == bus.get_unique_name():
            continue
        for interface, member, place, values, signature in (
            (MANAGER, "PrepareForSleep", ROOT, [True], "b"),
            (MANAGER, "SessionRemoved", ROOT, ["c1", path("c1")], "so"),
            (SESSION, "Lock", path("c1"), [], ""),
            ("org.freedesktop.DBus", "NameOwnerChanged", "/org/freedesktop/DBus",
             [LOGIN, "", bus.get_unique_name()], "sss"),
        ):
            message = dbus.lowlevel.SignalMessage(place, interface, member)
            message.append(*values, signature=signature)
            message.set_destination(name)
            bus.send_message(message)
    bus.flush()


def is_mounted(point):
    with open("/proc/self/mountinfo") as table:
        return any(line.split()[4] == point for line in table)


def release(point, *event):
    """Lets something happen, and tells how long sleep was held back; the mount is gone by then."""
    if inhibitors() != ["sleep:shutdown"]:
        sys.exit("held at first: %s" % inhibitors())
    happen(*event)
    start = time.monotonic()
    while inhibitors():
        if time.monotonic() - start > 20:
            sys.exit("held for ever")
        time.sleep(0.005)
    if is_mounted(point):
        sys.exit("let go while the vault was mounted")
    print("held for %.2f s" % (time.monotonic() - start))


command, words = sys.argv[1], sys.argv[2:]
if command == "setup":
    setup(*words)
elif command == "inhibitors":
    print(" ".join(inhibitors()))
elif command == "clients":
    print(" ".join(str(number) for number in clients()))
elif command == "forge":
    forge()
elif command == "release":
    release(*words)
else:
    happen(command, *words)
