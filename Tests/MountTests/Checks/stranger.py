"""Asks a mount's socket as another user: `stranger.py SOCKET USER`. Prints what is answered to each request."""
import os
import socket
import sys

path, user = sys.argv[1], int(sys.argv[2])
os.setgroups([])
os.setgid(user)
os.setuid(user)
for request in (b"status\n", b"lock\n", b"verify quick=yes\n", b"journal\n"):
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(10)
    try:
        connection.connect(path)
        connection.sendall(request)
        answer = connection.recv(100)
    except (BrokenPipeError, ConnectionResetError):
        answer = b""
    except PermissionError:
        answer = b"no way in"
    print(request.split()[0].decode(), answer.decode() or "nothing")
